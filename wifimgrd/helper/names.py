"""The names of the helper on the message bus, for it and for the daemon."""

from __future__ import annotations

from typing import Final

BUS_NAME: Final = "org.wifimgrd1.Net"
"""The bus name of the helper, a process of its own."""
PATH: Final = "/org/wifimgrd1/net"
INTERFACE: Final = "org.wifimgrd1.Net"
REFUSED: Final = "org.wifimgrd1.Net.Error.Refused"
"""The camera is there, and refuses connections at a port."""
CAMERAS: Final = "a(tssss)"
"""For each assigned interface the device's id and address, the interface, the camera's own address there,
which is empty while there is no link, and the device's codename."""
