"""One connection to a message bus (D-Bus), and the one module that uses the D-Bus library.

A message is checked to be of its declared type as it comes in (`values.py`); `_calls.py` matches each call
to its reply, with a time limit; `connection.py` dispatches signals and calls; `proxy.py` has the bases of
the proxies. Only `library.py` knows dbus-next, so that another library costs one module.

Used by: `camera`, `cli`, `client`, `daemon`, `helper`, `proxies`, `wire`.
Imports: nothing of the hub.
"""
