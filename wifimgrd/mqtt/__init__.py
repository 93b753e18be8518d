"""`wifimgrd-mqtt`: publishes the hub at an MQTT broker, and carries out commands from there.

`_session.py` is the course of a connection, `_bridge.py` what changes at the hub, `_records.py` what is to
be retained, `_commands.py` commands, `_discovery.py` the messages for Home Assistant. Most of it knows no
I/O; `_library.py` alone uses paho-mqtt. systemd starts it.

Used by: no other room.
Imports: `client`, `config`, `domain`, `runtime`, `wire`.
"""
