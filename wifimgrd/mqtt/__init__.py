"""`wifimgrd-mqtt`: publishes the state of the hub to an MQTT broker, and carries out commands from there.

`_session.py` is the course of a connection, `_bridge.py` follows changes of the hub, `_records.py` has the
retained messages, `_commands.py` commands, `_discovery.py` the messages for Home Assistant. Most of it
knows no I/O; only `_library.py` uses paho-mqtt. systemd starts it.

Used by: no other room.
Imports: `client`, `config`, `domain`, `runtime`, `wire`.
"""
