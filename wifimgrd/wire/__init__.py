"""The words of every border: how processes call each other, and how values look on the way.

Bus names, the names of errors, kinds of values on D-Bus and in JSON (`kinds.py`), records as properties
(`properties.py`), the introspection XML, which defines the API, and the private calls of the helper and the
camera process. No side of a border owns them.

Used by: `camera`, `cli`, `client`, `daemon`, `helper`, `http`, `mqtt`.
Imports: `bus`, `domain`, `runtime`.
"""
