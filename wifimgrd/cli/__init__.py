"""`wifimgrctl`, the command-line client.

Its grammar is in `_arguments.py`, its commands in `_commands.py`, and the larger ones in modules of their
own; what they print is in `_views.py`, `_screen.py` and `_table.py`; `_camera_files.py` reads files of
cameras. Of other processes it imports only the readers of map tiles and of the token, to check files before
a hub serves them, the store's file format, for backups, and the recorder of what a camera answers.

Used by: no other room.
Imports: `bus`, `camera`, `client`, `config`, `daemon/store`, `domain`, `http`, `http/tiles`, `report`,
`runtime`, `wire`.
"""
