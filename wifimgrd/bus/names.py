"""The names that every message bus has: https://dbus.freedesktop.org/doc/dbus-specification.html"""

from __future__ import annotations

from typing import Final

BUS_DAEMON: Final = "org.freedesktop.DBus"
BUS_DAEMON_PATH: Final = "/org/freedesktop/DBus"

PROPERTIES: Final = "org.freedesktop.DBus.Properties"
ACCESS_DENIED: Final = BUS_DAEMON + ".Error.AccessDenied"
"""The policy of the message bus denies this process calls to that service:
https://dbus.freedesktop.org/doc/dbus-specification.html"""
NO_REPLY: Final = BUS_DAEMON + ".Error.NoReply"
"""The service has gone without an answer; whether it did what was asked is not known."""
NAME_HAS_NO_OWNER: Final = BUS_DAEMON + ".Error.NameHasNoOwner"
NOT_RUNNING: Final = (NAME_HAS_NO_OWNER, BUS_DAEMON + ".Error.ServiceUnknown")
"""The errors where no program has that name, and none could be started for it."""
UNKNOWN_METHOD: Final = BUS_DAEMON + ".Error.UnknownMethod"
UNKNOWN_OBJECT: Final = BUS_DAEMON + ".Error.UnknownObject"
INVALID_SIGNATURE: Final = BUS_DAEMON + ".Error.InvalidSignature"
"""The arguments of a message are not of the expected types."""
OBJECT_MANAGER: Final = "org.freedesktop.DBus.ObjectManager"
INTROSPECTABLE: Final = "org.freedesktop.DBus.Introspectable"
PEER: Final = "org.freedesktop.DBus.Peer"
