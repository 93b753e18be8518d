"""Networks joined by wpa_supplicant itself, on a host without NetworkManager.

https://w1.fi/wpa_supplicant/devel/dbus.html
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dbus_next.signature import Variant

from .access_point import Camera
from .system_bus import SystemBus

_NAME = "fi.w1.wpa_supplicant1"
_ROOT = "/fi/w1/wpa_supplicant1"
_INTERFACE = f"{_NAME}.Interface"


@asynccontextmanager
async def joined(bus: SystemBus, interface: str, camera: Camera, **settings: str) -> AsyncIterator[None]:
    """Have an interface join a camera's network, with further settings; it leaves it at the end."""
    options = {"Ifname": Variant("s", interface), "Driver": Variant("s", "nl80211")}
    (path,) = await bus.call(_NAME, _ROOT, _NAME, "CreateInterface", "a{sv}", options)
    try:
        network = {
            "ssid": Variant("ay", camera.ssid),
            "psk": Variant("s", camera.password),
            "key_mgmt": Variant("s", "WPA-PSK"),
            **{name: Variant("s", value) for name, value in settings.items()},
        }
        (added,) = await bus.call(_NAME, path, _INTERFACE, "AddNetwork", "a{sv}", network)
        await bus.call(_NAME, path, _INTERFACE, "SelectNetwork", "o", added)
        yield
    finally:
        await bus.call(_NAME, _ROOT, _NAME, "RemoveInterface", "o", path)
