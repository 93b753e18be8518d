"""`wifimgrd-mavlink`: each camera as a MAVLink camera, for ground stations and autopilots.

`_frames.py` is the codec, with signatures; `_requests.py` has what a command means, `_cameras.py` which
component a camera is and what stations are shown of it. `_recording.py` carries orders to record out, by
command and while the vehicle is armed; `_bridge.py` follows the hub and answers, `_link.py` is the socket.
systemd starts it.

Used by: no other room.
Imports: `client`, `config`, `domain`, `runtime`.
"""
