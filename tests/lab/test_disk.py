"""The disk of the state turns read-only under the running daemon: links stay, what is new is refused."""

from collections.abc import Callable, Iterator

import pytest

from wifimgrd.domain.errors import InternalError

from .backends import on_networkmanager
from .guest.access_point import Camera
from .guest.namespace import run
from .guest.state_disk import StateDisk
from .guest.traffic import Download, until_fetched
from .guest.whole_hub import Json, WholeHub, journal_of_daemon

Cameras = Callable[..., Camera]


@pytest.fixture
def disk() -> Iterator[StateDisk]:
    disk = StateDisk()
    disk.mount()
    yield disk
    disk.remove()


def refused(answer: tuple[int, Json]) -> None:
    """The state could not be written, and the answer says so."""
    status, problem = answer
    assert (status, problem["code"]) == (500, "internal")


@on_networkmanager
async def test_a_disk_that_turns_read_only_costs_no_link_and_takes_nothing_new(
    disk: StateDisk, hub: WholeHub, cameras: Cameras
) -> None:
    camera, other = cameras("A"), cameras("B")
    first = await hub.add(camera)
    await hub.until(first, "connected")
    before = (await hub.ask("GET", f"/{first}/"))[1]
    settings = {"ssid": other.ssid.decode(), "password": other.password}
    body = {"codename": "x", "connection_type": "wifi", "connection_settings": settings}
    hub.channel.forget()
    disk.fail()
    with Download(before["interface"]) as download:
        refused(await hub.ask("POST", "/", json=body))
        refused(await hub.ask("PATCH", f"/{first}/", json={"name": "other"}))
        with pytest.raises(InternalError, match="the disk that holds the state"):
            await hub.dbus.update_device(first, {"name": "other"})
        download.expect_more()
    assert hub.channel.statuses(first) == []
    assert [device["name"] for device in (await hub.ask("GET", "/"))[1]] == [before["name"]]
    await hub.expect(first, "connected")
    refused(await hub.ask("DELETE", f"/{first}/"))
    await hub.until(first, "disconnected")
    hub.channel.forget()
    assert (await hub.connect(first))[0] == 200
    hub.channel.forget()
    camera.kill()
    await hub.until(first, "connecting")
    hub.channel.forget()
    camera.on()
    await hub.until(first, "connected", 40)
    errors = journal_of_daemon("-p", "err").splitlines()
    assert any(line.startswith("the state cannot be written") for line in errors)
    assert all(line.startswith(("the state cannot be written", "backup_not_written")) for line in errors)
    interface = hub.dbus.devices[first].interface or ""
    until_fetched(interface, "A")
    with Download(interface) as download:
        run("systemctl", "stop", "wifimgrd.service")
        disk.repair()
        run("systemctl", "start", "wifimgrd.service")
        await hub.await_daemon()
        await hub.all_in("connected", [first], 20)
        download.expect_more()
    second = await hub.add(other)
    await hub.all_in("connected", [second], 30)
    assert set(hub.dbus.devices) == {first, second}
