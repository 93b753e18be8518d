"""Publishes the hub on the message bus: translates calls and values, and asks polkit.

`hub_service.py` publishes what the manager changes, `_object_server.py` finds the object and the method of
a call, `_manager_object.py` and `_device_object.py` have the methods, and `_authorization.py` asks polkit.
The values and names are those of `wire`.

Used by: `daemon`.
Imports: `bus`, `daemon/manager`, `domain`, `runtime`, `wire`.
"""
