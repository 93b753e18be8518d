"""Stands before aiohttp: counts connections, and bounds what comes in, in size, number, time and rate.

A request is read up to the end of its head, and one that is over a limit or can be read in two ways is
refused here. `connection.py` first asks `http/tiles/short_way.py`, which answers tiles that need nothing of
aiohttp.

Used by: `http`, `http/channel`, `http/relay`, `http/tiles`.
Imports: `domain`, `http/_errors`, `http/access`.
"""
