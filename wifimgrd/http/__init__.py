"""`wifimgrd-http`: HTTP and WebSocket, as an unprivileged process that uses the daemon over D-Bus only.

`_app.py` wires the rooms below it. What comes in passes `front/`, aiohttp, `access/`, and then a resource
of `api/`, `channel/`, `relay/`, `tiles/`, `description/` or `page/`; `platform/` has the dialect of the
platform's frontend. `_errors.py` gives every error its form, `_client.py` is HTTP towards cameras and tile
servers. systemd starts it.

Used by: `cli`.
Imports: `client`, `config`, `domain`, `runtime`.
"""
