"""Map tiles from files on disk, and from a tile server beside this one.

A module for each type of source (`_mbtiles.py`, `_pmtiles.py`, `_folder.py`, `_upstream.py`); `map/` has
the style, fonts and archives of the platform's newer maps. `wifimgrctl tiles check` uses the same readers.

Used by: `cli`, `http`.
Imports: `client`, `config`, `domain`, `http/_client`, `http/_errors`, `http/_json_text`,
`http/_operations`, `http/_requests`, `http/_routes`, `http/access`, `http/api`, `http/front`, `runtime`.
"""
