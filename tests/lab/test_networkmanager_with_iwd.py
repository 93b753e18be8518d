"""NetworkManager with iwd, which joins no cameras: the hub says so, and what frees the adapters."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.services import NETWORK_MANAGER, SUPPLICANT
from .guest.whole_hub import whole_hub

_SETTINGS = Path("/etc/NetworkManager/conf.d/wifi-backend.conf")
NAMED_S = 5.0


def write_backend(name: str) -> None:
    _SETTINGS.parent.mkdir(parents=True, exist_ok=True)
    _SETTINGS.write_text(f"[device]\nwifi.backend={name}\n")


@pytest.fixture
def iwd(no_radios: None) -> Iterator[None]:
    """Have NetworkManager use iwd."""
    run("systemctl", "stop", NETWORK_MANAGER, SUPPLICANT)
    write_backend("iwd")
    run("systemctl", "start", "iwd.service", NETWORK_MANAGER)
    yield
    run("systemctl", "stop", "iwd.service")
    _SETTINGS.unlink()
    run("systemctl", "restart", NETWORK_MANAGER)


async def test_it_is_named_with_the_line_that_frees_the_adapters(
    iwd: None, adapters: Callable[..., Adapter]
) -> None:
    adapters()
    async with whole_hub() as hub:
        await hub.dbus.wait_until(lambda dbus: dbus.service.backend_state == "unavailable", NAMED_S)
        assert hub.dbus.service.backend_reason.startswith("NetworkManager uses iwd")
        assert "wifi.backend=wpa_supplicant" in hub.dbus.service.backend_reason
        run("systemctl", "stop", "iwd.service")
        write_backend("wpa_supplicant")
        run("systemctl", "restart", NETWORK_MANAGER)
        adapters()  # iwd has deleted the interface of the other one
        await hub.dbus.wait_until(lambda dbus: dbus.service.backend_state == "ready", 20)
