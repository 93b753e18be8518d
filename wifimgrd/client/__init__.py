"""The typed client of the daemon that the HTTP shim, the bridges and the command line share.

`hub.py` keeps live copies of the daemon's objects; `commands.py` is the one way in which a command is
carried out, and `json_records.py` writes records as JSON; `_heartbeat.py` notices a daemon that does not
answer.

Used by: `cli`, `http`, `mavlink`, `mqtt`, `report`.
Imports: `bus`, `domain`, `runtime`, `wire`.
"""
