"""The resources of the HTTP API, a module for each.

Each reads its parameters, carries out a command by `client/commands.py`, and writes the record or the error
as JSON. `body_types.py` has the forms of bodies, from which the description is made.

Used by: `http`, `http/tiles`.
Imports: `client`, `domain`, `http/_errors`, `http/_json_text`, `http/_operations`, `http/_requests`,
`http/_routes`, `http/access`, `http/channel`, `http/page`, `http/platform`.
"""
