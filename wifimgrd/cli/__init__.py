"""`wifimgrctl`, the command-line client.

Its grammar is in `_arguments.py`, its commands in `_commands.py`, and the larger ones in modules of their
own; what they print is in `_views.py`, `_screen.py` and `_table.py`; cameras in files in
`_camera_files.py`. Of other processes it imports only the readers of map tiles, to check files before a hub
serves them, and the store's file format, for backups.

Used by: no other room.
Imports: `bus`, `client`, `config`, `daemon/store`, `domain`, `http`, `http/tiles`, `report`, `runtime`,
`wire`.
"""
