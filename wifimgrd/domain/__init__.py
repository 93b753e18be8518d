"""Values, rules, policies, errors and commands: no I/O, no clock, no asyncio, no logging.

The allocator, the life cycle of a connection, the order in which lost cameras are tried
(`reconnect_policy.py`), which bonds are the hub's (`bonds.py`) and the comparison with the backend are pure
functions of values. `records.py` is the one table of the fields that clients see, `errors.py` the one tree
of errors, `time_limits.py` says how long a command may take, and `camera_control.py` what the camera
process does for the manager.

Used by: `camera`, `cli`, `client`, `config`, `daemon`, `helper`, `http`, `kernel`, `mavlink`, `mqtt`,
`proxies`, `report`, `simulator`, `wire`.
Imports: nothing of the hub.
"""
