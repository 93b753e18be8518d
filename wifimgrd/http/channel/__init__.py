"""The management channel: numbered messages over WebSocket and Server-Sent Events.

It keeps the last messages for those who come back, has a queue for each client, and ends a client that does
not read. `_commands.py` takes the commands of clients, and `_status_hold.py` says when a message is sent.

Used by: `http`, `http/api`, `http/platform`.
Imports: `client`, `domain`, `http/_errors`, `http/_operations`, `http/_requests`, `http/_routes`,
`http/access`, `http/front`, `wire`.
"""
