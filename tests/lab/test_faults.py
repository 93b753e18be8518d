"""What breaks beside the cameras, and what they do themselves: links stay, or come back."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from .backends import SERVICE_OF, on_both, on_wpa_supplicant
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import async_poll_until, poll_until
from .guest.namespace import CommandError, run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.regulatory_flood import flood
from .guest.services import drop_in
from .guest.traffic import Download, fetch, until_fetched
from .guest.whole_hub import WholeHub, journal_of_daemon, whole_hub

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]
Plug = Callable[..., Awaitable[Adapter]]
YEAR_S = 365 * 86_400


async def connected(hub: WholeHub, *cameras: Camera) -> list[int]:
    """Register cameras, and wait until all are connected."""
    devices = [await hub.add(camera) for camera in cameras]
    for device in devices:
        await hub.until(device, "connected")
    return devices


@on_both
@pytest.mark.parametrize("unit", ["systemd-journald", "systemd-udevd", "polkit"])
async def test_what_the_links_do_not_need_may_be_killed(
    hub: WholeHub, cameras: Cameras, adapters: Adapters, unit: str
) -> None:
    camera = cameras("A")
    [device] = await connected(hub, camera)
    interface = hub.dbus.devices[device].interface
    assert interface is not None
    hub.channel.forget()
    with Download(interface) as download:
        run("bash", "-c", f"systemctl kill --signal=KILL {unit}.service && systemctl start {unit}.service")
        new = adapters()
        await hub.interface_state(new.interface, "available")
        download.expect_more()
    assert hub.channel.statuses(device) == []
    await hub.disconnect(device)
    await hub.until(device, "disconnected")


@on_both
async def test_a_killed_supplicant_costs_no_camera(hub: WholeHub, cameras: Cameras) -> None:
    devices = await connected(hub, cameras("A"), cameras("B", security="sae"))
    run("pkill", "-KILL", "-x", "wpa_supplicant")
    await hub.dbus.wait_until(lambda dbus: dbus.service.backend_state == "unavailable", 10)
    await hub.all_back(devices)


def associated(interface: str) -> bool:
    try:
        return "Not connected" not in run("iw", "dev", interface, "link")
    except CommandError:  # just when it changed
        return True


@on_both
async def test_a_supplicant_that_misses_the_end_of_a_link_is_notified_of_it(
    hub: WholeHub, cameras: Cameras
) -> None:
    camera = cameras("A")
    [device] = await connected(hub, camera)
    interface = hub.dbus.devices[device].interface or ""
    hub.channel.forget()
    run("systemctl", "kill", "--signal=STOP", "wpa_supplicant")
    try:
        flood(int(run("pgrep", "-x", "wpa_supplicant")))
        camera.kill()
        poll_until(lambda: not associated(interface), "the end of the link")
    finally:
        run("systemctl", "kill", "--signal=CONT", "wpa_supplicant")
    await hub.until(device, "connecting")
    await hub.expect(device, "connecting", "connection-lost")
    assert "supplicant_unaware" in journal_of_daemon()
    hub.channel.forget()
    camera.on()
    await hub.until(device, "connected")
    until_fetched(interface, "A")


@on_wpa_supplicant
async def test_an_attempt_that_ends_while_the_helper_starts_costs_no_adapter(
    hub: WholeHub, cameras: Cameras
) -> None:
    with drop_in("wifimgrd-net.service", "ExecStartPre=/bin/sleep 3"):
        run("systemctl", "kill", "--signal=KILL", "wifimgrd-net.service")
        device = await hub.add(cameras("A"))
        await hub.received(device, "connecting")
        await hub.disconnect(device)
        await hub.until(device, "disconnected")
        status, body = await hub.connect(device)
        assert status == 200, body


@on_both
async def test_a_restarted_service_behind_the_backend_costs_no_camera(
    hub: WholeHub, backend: str, cameras: Cameras
) -> None:
    devices = await connected(hub, cameras("A"), cameras("B"))
    run("systemctl", "restart", SERVICE_OF[backend])
    await hub.dbus.wait_until(lambda dbus: dbus.service.backend_state == "unavailable", 10)
    await hub.all_back(devices)


@on_both
async def test_a_killed_message_bus_costs_no_camera(hub: WholeHub, backend: str, cameras: Cameras) -> None:
    """With it goes the daemon, which systemd starts again, and NetworkManager, which it does not."""
    devices = await connected(hub, cameras("A"), cameras("B"))
    run("bash", "-c", "systemctl kill --signal=KILL dbus.service; systemctl start dbus.service")
    await hub.dbus.wait_until(lambda dbus: not dbus.available, 10)
    await hub.await_daemon(40)
    if backend == "networkmanager":
        state = ("systemctl", "show", "-P", "ActiveState", SERVICE_OF[backend])
        poll_until(lambda: run(*state).strip() == "inactive", "NetworkManager gone")
        run("systemctl", "start", SERVICE_OF[backend])
    # The helper starts on the way, and restarts a networkd that has lost the bus.
    await hub.all_back(devices)


@pytest.mark.parametrize("backend", ["wpa_supplicant"])
@pytest.mark.parametrize("command", [("kill", "--signal=KILL"), ("restart",), ("stop",)])
async def test_networkd_that_ends_interrupts_no_link(
    hub: WholeHub, cameras: Cameras, command: tuple[str, ...]
) -> None:
    """systemd starts it again, or the daemon does where it was stopped: leases have to be renewed."""
    [device] = await connected(hub, cameras("A"))
    hub.channel.forget()
    run("systemctl", *command, "systemd-networkd.service")
    state = ("systemctl", "show", "-P", "ActiveState", "systemd-networkd.service")
    poll_until(lambda: run(*state).strip() == "active", "networkd back")
    run("networkctl", "list")  # it answers
    until_fetched(hub.dbus.devices[device].interface or "", "A")
    assert hub.channel.statuses(device) == []
    await hub.expect(device, "connected")


async def test_a_host_that_slept_has_its_cameras_again(
    hub: WholeHub, nm: NetworkManager, cameras: Cameras
) -> None:
    """What NetworkManager does around a suspend; the lab's kernel itself cannot sleep."""
    devices = await connected(hub, cameras("A"), cameras("B"))
    for interface in ("wlan0", "wlan1"):  # NetworkManager 1.42 forgets a device that is not quite there yet
        await nm.wait_for_state(interface, DeviceState.ACTIVATED)
    try:
        await nm.sleep(True)
        await hub.dbus.wait_until(
            lambda dbus: all(dbus.devices[device].state != "connected" for device in devices), 15
        )
    finally:
        await nm.sleep(False)
    await hub.all_back(devices)


@on_both
async def test_a_camera_on_another_channel_under_another_address_is_the_same_camera(
    hub: WholeHub, cameras: Cameras
) -> None:
    camera = cameras("A")
    [device] = await connected(hub, camera)
    hub.channel.forget()
    camera.stop()
    await hub.until(device, "connecting")
    camera.network = replace(camera.network, channel=6)
    camera.change_bssid("02:ca:00:00:00:77")
    camera.on()
    await hub.until(device, "connected", 40)
    until_fetched(hub.dbus.devices[device].interface or "", "A")


@on_both
async def test_an_address_that_comes_late_is_waited_for(hub: WholeHub, cameras: Cameras) -> None:
    camera = cameras("A")
    camera.dhcp_off()
    device = await hub.add(camera)
    poll_until(camera.stations, "the camera joined", 20)
    camera.dhcp_on()
    await hub.until(device, "connected")
    assert "failed" not in hub.channel.statuses(device)


@on_both
@pytest.mark.parametrize("point", ["searching", "associating", "asking for an address", "disconnecting"])
async def test_an_adapter_may_be_pulled_at_any_point(
    plug: Plug, adapters: Adapters, cameras: Cameras, point: str
) -> None:
    camera, adapter = cameras("A"), await plug()
    async with whole_hub() as hub:
        await hub.interface_state(adapter.interface, "available")
        if point == "searching":
            camera.fall_silent()
        if point in ("associating", "asking for an address"):
            camera.dhcp_off()  # never connected, however late the adapter is pulled
        device = await hub.add(camera)
        match point:
            case "searching":
                await hub.until(device, "connecting")
            case "associating":
                poll_until(lambda: "authenticated" in camera.log("hostapd"), "the adapter at the camera", 20)
            case "asking for an address":
                poll_until(camera.stations, "the camera joined", 20)
            case "disconnecting":
                await hub.until(device, "connected")
                await hub.ask("POST", f"/wifi/disconnect?device_id={device}")
        adapter.unplug()
        await hub.until(device, "disconnected", 10)
        await hub.dbus.wait_until(lambda dbus: not dbus.interfaces, 10)
        await hub.agree()
        assert (await hub.interfaces())["interfaces"] == []
        again = adapters(adapter.port)
        await hub.interface_state(again.interface, "available")
        assert hub.dbus.devices[device].state == "disconnected"


HOSTILE = [
    b"\xff" * 32,
    b"\x00" * 7 + b"%n%s",
    b"\x1b[2J\x07\r\nOK",
    b"<script>alert(1)</script>",
    bytes(range(32)),
]


@on_both
async def test_hostile_names_are_shown_safely_and_a_namesake_is_not_joined(
    plug: Plug, cameras: Cameras
) -> None:
    adapter = await plug()
    for number, ssid in enumerate(HOSTILE):
        cameras(f"H{number}", ssid, security="open")
    trap = cameras("T", "CAM_A", security="open")
    async with whole_hub() as hub:
        await hub.interface_state(adapter.interface, "available")

        async def all_listed() -> bool:
            """A scan is on each channel for a moment only, and may miss who answers late."""
            status, answer = await hub.ask("GET", "/wifi/networks")
            assert status == 200
            listed = {bytes.fromhex(network["ssid_hex"]) for network in answer["networks"]}
            assert listed <= {*HOSTILE, b"CAM_A"}
            return listed == {*HOSTILE, b"CAM_A"}

        await async_poll_until(all_listed, "every network", 20)
        device = await hub.add(trap, password="secret-A")
        await hub.failed(device, "authentication-failed", 40)
        assert trap.joins() == []


@on_both
async def test_a_password_is_nowhere_after_a_whole_life(hub: WholeHub, cameras: Cameras) -> None:
    """Not in a journal, a process, an answer, an event, a file but the state, nor a core dump."""
    camera = cameras("A", password="very-secret-word")
    [device] = await connected(hub, camera)
    wrong = await hub.add(camera, password="other-secret-word")
    await hub.disconnect(device)
    await hub.connect(wrong)
    await hub.ask("PATCH", f"/{device}", json={"connection_settings": {"password": "third-secret-word"}})
    answers = [await hub.ask("GET", path) for path in ("/", f"/{device}/", "/wifi/interfaces", f"/{wrong}/")]
    run("sysctl", "-q", "-w", "kernel.core_pattern=/tmp/core.%e.%p", "fs.suid_dumpable=2")
    for unit in ("wifimgrd", "wifimgrd-http"):
        run("systemctl", "kill", "--signal=ABRT", "--kill-whom=main", f"{unit}.service")
    await hub.await_daemon()
    places = {
        "journal": run("bash", "-c", "journalctl -b -o export | grep -a secret-word || true"),  # has bytes
        "processes": run("bash", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"),
        "answers": repr(answers),
        "events": json.dumps(hub.channel.messages),
        "objects": repr((hub.dbus.devices, hub.dbus.interfaces)),
        "run": run("bash", "-c", "grep -rl secret-word /run/wifimgrd* /run/systemd /var/log /tmp || true"),
        "cores": run("bash", "-c", "ls /tmp/core.* /var/lib/systemd/coredump/* 2>/dev/null || true"),
    }
    found = [place for place, text in places.items() if "secret-word" in text]
    assert found == []
    assert places["run"].split() == places["cores"].split() == []


@on_both
async def test_a_clock_that_jumps_by_years_disturbs_nothing(hub: WholeHub, cameras: Cameras) -> None:
    camera, other = cameras("A"), cameras("B")
    [device] = await connected(hub, camera)
    now = int(run("date", "+%s"))
    try:
        for year in (10, -10):
            run("date", "-s", f"@{now + year * YEAR_S}")
            hub.channel.forget()
            second = await hub.add(other)
            await hub.until(second, "connected")
            assert hub.channel.statuses(device) == []
            assert fetch(hub.dbus.devices[device].interface or "") == "A"
            tried = (await hub.status(second))["last_connection_attempt"]
            assert tried[:4] == run("date", "-u", "+%Y").strip()
            assert (await hub.ask("DELETE", f"/{second}"))[0] == 204
    finally:
        run("date", "-s", f"@{now}")
    camera.kill()
    await hub.until(device, "connecting")
    hub.channel.forget()
    camera.on()
    await hub.until(device, "connected", 40)
