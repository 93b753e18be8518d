"""The configuration, strictly read, and the camera models.

`configuration.py` has the sections and keys, `toml_tables.py` is the one reader of TOML (also of models and
of the simulator's scenarios), `web_address.py` reads addresses, `secret_file.py` reads passwords, and
`catalog/` has the models as data. Each
program but the camera process reads its settings at its start and passes them on as values: the daemon
through `daemon/_live_settings.py`, which reads them again on a reload, to `daemon/manager/settings.py`; the
shim to `http/settings.py`; the bridge to a broker to `mqtt/_settings.py`; the helper reads its own for each
new daemon. The daemon's rooms read none.

Used by: `cli`, `daemon`, `helper`, `http`, `mavlink`, `mqtt`, `simulator`.
Imports: `domain`, `runtime`.
"""
