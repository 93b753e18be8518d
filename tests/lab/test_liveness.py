"""What is known of a model, and whether a camera answers, on real 802.11."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from .backends import on_both, on_networkmanager, on_wpa_supplicant
from .guest.access_point import Camera
from .guest.deadline import async_poll_until
from .guest.namespace import run
from .guest.traffic import fetch
from .guest.whole_hub import Json, WholeHub

CATALOG = Path("/etc/wifimgrd/catalog.d")
MODELS = """
[[model]]
codename = "lab-static"
device_name = "Hands out no addresses"
camera_address = "192.168.42.1"
addressing = "static"
local_address = "192.168.42.77/24"
hidden = true

[[model]]
codename = "lab-http"
device_name = "Sleeps unless it is asked for a page"
keep_alive = { port = 80, path = "/stay/awake", interval_s = 1 }

[[model]]
codename = "lab-udp"
device_name = "Sleeps unless it is sent a datagram"
keep_alive = { port = 7, payload = "stay awake", interval_s = 1 }
"""
TIMES = 3


@pytest.fixture
def models() -> Iterator[None]:
    CATALOG.mkdir(parents=True, exist_ok=True)
    file = CATALOG / "lab.toml"
    file.write_text(MODELS)
    yield
    file.unlink()


def says(device: int, reachable: bool, message: Json) -> bool:
    data = message["data"]
    return message["type"] == "device.updated" and data["id"] == device and data["reachable"] is reachable


@on_networkmanager
async def test_cameras_that_are_joined_and_silent_are_distinguished_from_those_that_are_gone(
    hub: WholeHub, cameras: Callable[..., Camera]
) -> None:
    known, unknown = cameras("A"), cameras("B")
    devices = [await hub.add(known, "insta360-x3"), await hub.add(unknown, "generic-wifi-camera")]
    for device in devices:
        await hub.until(device, "connected")
        assert hub.dbus.devices[device].reachable
    hub.channel.forget()
    known.mute()
    unknown.mute()
    for device in devices:
        await hub.channel.until(partial(says, device, False), f"device {device} is silent", 40)
        await hub.expect(device, "connected")
        through = hub.dbus.devices[device].interface or ""
        assert " 0% packet loss" in run("ping", "-c1", "-W5", "-I", through, known.address)
        assert "no: associated, but not answering" in run("wifimgrctl", "status", str(device))
        assert hub.channel.statuses(device) == ["connected"], "one for a change of reachability"
    hub.channel.forget()  # an update of a bit rate, from before the silence, says that they answer, too
    known.unmute()
    unknown.unmute()
    for device in devices:
        await hub.channel.until(partial(says, device, True), f"device {device} answers", 20)
        await hub.expect(device, "connected")
        assert hub.channel.statuses(device) == ["connected"], "one for a change of reachability"


@on_both
async def test_a_camera_that_hands_out_no_addresses_is_met_at_those_of_its_model(
    models: None, hub: WholeHub, cameras: Callable[..., Camera]
) -> None:
    camera = cameras("A", hidden=True)
    camera.dhcp_off()
    device = await hub.add(camera, "lab-static")
    await hub.until(device, "connected")
    record = hub.dbus.devices[device]
    assert (record.local_address, record.camera_address) == ("192.168.42.77", "192.168.42.1")
    assert fetch(record.interface or "") == "A"
    await hub.dbus.wait_until(lambda client: client.devices[device].reachable, 15)


@on_wpa_supplicant
async def test_cameras_are_kept_awake_while_they_are_connected(
    models: None, hub: WholeHub, cameras: Callable[..., Camera]
) -> None:
    asked, notified = cameras("A"), cameras("B")
    notified.serve_crowd(1)
    logs = {
        await hub.add(asked, "lab-http"): partial(asked.log, "busybox"),
        await hub.add(notified, "lab-udp"): partial(notified.log, "python3"),
    }
    for device, log in logs.items():
        await hub.until(device, "connected")
        await async_poll_until(partial(kept_awake, log), f"device {device} kept awake {TIMES} times", 15)


async def kept_awake(log: Callable[[], str]) -> bool:
    return len(re.findall("stay.awake", log())) >= TIMES
