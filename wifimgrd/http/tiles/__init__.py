"""Map tiles from files on disk and from a tile server beside this one."""
