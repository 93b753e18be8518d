"""Another backend is chosen while a link is up, by the commands of docs/backends.md."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docs.code_blocks import code_blocks

from .guest.access_point import Camera
from .guest.deadline import poll_until
from .guest.documents import type_block
from .guest.namespace import run
from .guest.services import NETWORK_MANAGER, files_for_networkd, stop_networkd
from .guest.traffic import Download, until_fetched
from .guest.whole_hub import WholeHub

Cameras = Callable[..., Camera]

DOCUMENT = "docs/backends.md"
[LEFT_ALONE] = [one for one in code_blocks(DOCUMENT) if one.where.startswith("/etc/NetworkManager/")]
LEFT_ALONE_FILE = Path(LEFT_ALONE.where)


@pytest.fixture
def networkmanager(no_radios: None) -> Iterator[None]:
    """NetworkManager manages all adapters again afterwards, and networkd does not run."""
    yield
    manage_all_again()
    stop_networkd()


def leave_adapters_alone() -> None:
    """Write the document's configuration of NetworkManager."""
    LEFT_ALONE_FILE.write_text(LEFT_ALONE.text)


def manage_all_again() -> None:
    """Have NetworkManager take over all adapters."""
    LEFT_ALONE_FILE.unlink(missing_ok=True)
    run("systemctl", "restart", NETWORK_MANAGER)


@pytest.mark.parametrize("how", ["left alone", "disabled"])
async def test_from_networkmanager_to_wpa_supplicant_and_back(
    networkmanager: None, hub: WholeHub, cameras: Cameras, how: str
) -> None:
    device = await hub.add(cameras("A"))
    await hub.until(device, "connected")
    interface = hub.dbus.devices[device].interface or ""
    reason = "NetworkManager has registered it with wpa_supplicant"
    with Download(interface) as download:
        await hub.choose_backend("wpa_supplicant")
        for name in ("wlan0", "wlan1"):
            await hub.interface_state(name, "unavailable")
            assert reason in (hub.dbus.interfaces[name].reason or "")
        await hub.expect(device, "disconnected")
        download.expect_more()

    if how == "left alone":
        await asyncio.to_thread(type_block, DOCUMENT, "wifimgrd-3", f"wifimgrd-{device}")
        leave_adapters_alone()
        await asyncio.to_thread(type_block, DOCUMENT, "nmcli general reload")
    else:
        await asyncio.to_thread(type_block, DOCUMENT, "disable --now NetworkManager")
    await hub.all_in("connected", [device], 60)
    interface = hub.dbus.devices[device].interface or ""
    until_fetched(interface, "A")
    assert files_for_networkd()

    manage_all_again()
    await hub.choose_backend("networkmanager")
    poll_until(lambda: not files_for_networkd(), "nothing is left for networkd")
    await hub.all_in("connected", [device], 60)
    until_fetched(hub.dbus.devices[device].interface, "A")
    assert f"wifimgrd-{device}" in run("nmcli", "-g", "NAME", "connection", "show", "--active")
