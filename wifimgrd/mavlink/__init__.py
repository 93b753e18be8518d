"""`wifimgrd-mavlink`: each camera as a MAVLink camera, for ground stations and autopilots.

`_frames.py` is the codec, `_requests.py` what a command means, `_captures.py` carries recording out,
`_bridge.py` follows the hub and answers, `_link.py` is the socket. Most of it
knows no I/O. systemd starts it.

Used by: no other room.
Imports: `client`, `config`, `domain`, `runtime`.
"""
