"""The daemon on the message bus: its objects, a module for each interface, and nothing but translation.

`hub_service.py` publishes what the manager changes, `_object_server.py` finds the object and the method of
a call, and `_authorization.py` asks polkit. The values and names are those of `wire`.

Used by: `daemon`.
Imports: `bus`, `daemon/manager`, `domain`, `runtime`, `wire`.
"""
