"""The configuration, strictly read, and the camera models.

`configuration.py` has the sections and keys, `toml_tables.py` is the one reader of TOML (also of models and
of the simulator's scenarios), `web_address.py` reads addresses, and `catalog/` has the models as data. Each
program reads its settings at its start and hands them on as values: the daemon's rooms read none.

Used by: `cli`, `daemon`, `helper`, `http`, `mqtt`, `simulator`.
Imports: `domain`.
"""
