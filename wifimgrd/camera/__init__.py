"""`wifimgrd-camera`: speaks with cameras over Bluetooth LE and over their networks, and has no rights.

Over Bluetooth: advertisements (`_advertisements.py`), the adapter (`_radio.py`), connections and bonds
(`_central.py`), one class for each protocol (`_gopro.py`, `_theta.py`), the beacon that wakes an Insta360
(`_beacon.py`), and one operation at a time with each camera (`_operations.py`). Over a network: `drivers/`
turn bytes into readings, without I/O; `sessions.py` and `_session.py` carry their conversations out on
sockets that the daemon passes in (`_attached.py`), and `traces.py` records them for those who write drivers.
All that cameras say of their state is parsed here, where a mistake can harm nothing else. The message bus
starts it when the daemon first calls it.

Used by: `cli`, `simulator`.
Imports: `bus`, `domain`, `kernel`, `proxies`, `runtime`, `wire`.
"""
