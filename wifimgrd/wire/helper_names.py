"""The names of the helper on the message bus, for it and for the daemon."""

from __future__ import annotations

from typing import Final, NamedTuple

BUS_NAME: Final = "org.wifimgrd1.Net"
"""The bus name of the helper, a process of its own."""
PATH: Final = "/org/wifimgrd1/net"
INTERFACE: Final = "org.wifimgrd1.Net"
REFUSED: Final = "org.wifimgrd1.Net.Error.Refused"
"""The camera is there, and refuses connections at a port."""
CAMERAS: Final = "a(tssss)"
"""A CameraEntry for each assigned interface."""


class CameraEntry(NamedTuple):
    """A camera in the plan, as the call `Apply` takes it."""

    device_id: int
    address: str
    """The device's own address; empty if it has none."""
    interface: str
    camera_address: str
    """The camera's own address on the interface; empty while there is no link."""
    codename: str


class NetworkArguments(NamedTuple):
    """The arguments of the call `AddNetwork`."""

    interface: str
    device_id: int
    ssid: bytes
    key_management: str
    passphrase: str
    bssid: str
    hidden: bool


class ProfileArguments(NamedTuple):
    """The arguments of the call `ActivateProfile`."""

    interface: str
    device_id: int
    ssid: bytes
    key_management: str
    passphrase: str
    bssid: str
    hidden: bool
    device: str
    """NetworkManager's object of the interface."""
    uuid: str
    dhcp_timeout_s: int
    local_address: str
    not_after_us: int
    """CLOCK_MONOTONIC, after which nobody waits for the profile."""
