"""The resources of the HTTP API, a module for each.

Each reads its parameters; those with commands use `client/commands.py`. Answers are JSON, those of
`metrics.py` the text of Prometheus. `body_types.py` has the forms of bodies, from which the description is
made.

Used by: `http`, `http/tiles`.
Imports: `client`, `domain`, `http/_errors`, `http/_json_text`, `http/_operations`, `http/_requests`,
`http/_routes`, `http/access`, `http/channel`, `http/page`, `http/platform`.
"""
