"""What breaks in each phase of a wake and of a pairing, with real bluetoothd; and who else uses it."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import pytest

from wifimgrd.bus.connection import BusError

from ..guest.deadline import async_poll_until, poll_until
from ..guest.namespace import CommandError, run
from .world import BLUETOOTHD, Air, Daemon, measured, until_powered

NUMBER, ADDRESS = "1001", "D4:32:60:00:10:01"
PHASES = ("connecting", "services", "boot", "access_point", "held")
HOST_FAULTS = {
    "stopped": PHASES,
    "killed": ("boot", "held"),
    "blocked": ("boot", "held"),
    "switched off": ("connecting", "access_point"),
    "pulled": ("connecting", "services", "held"),
}
"""And the phases of a wake in which each is tried."""
HOST_FAULTS_OF_PAIRINGS = {"stopped": ("pairing",), "pulled": ("boot",)}
Operation = asyncio.Future[object]
ENDS_S = 6.0
"""How long an operation may go on after what it needs has gone."""
_ALL_TRIES_S = 30.0
"""The same where a connection that is refused is tried six times, with pauses."""


def break_host(air: Air, fault: str) -> None:
    """Take Bluetooth away."""
    match fault:
        case "stopped":
            run("systemctl", "stop", BLUETOOTHD)
        case "killed":
            run("systemctl", "kill", "--signal=KILL", BLUETOOTHD)
        case "blocked":
            run("rfkill", "block", "bluetooth")
            # An unblock before that is lost on BlueZ.
            poll_until(lambda: "Powered: no" in run("bluetoothctl", "show"), "the adapter is off")
        case "switched off":
            run("bluetoothctl", "power", "off")
        case "pulled":
            air.do("unplug")


async def mend_host(air: Air, hub: Daemon, fault: str) -> None:
    """Give it back; returns once the process has it."""
    match fault:
        case "stopped" | "killed":
            run("sh", "-c", f"systemctl reset-failed {BLUETOOTHD}; systemctl start {BLUETOOTHD}")
        case "blocked":
            run("rfkill", "unblock", "bluetooth")
            await async_poll_until(switched_on, "the adapter is on")
        case "switched off":
            await async_poll_until(switched_on, "the adapter is on")
        case "pulled":
            air.do("plug_in")
    until_powered()
    await hub.until_state("ready")


async def switched_on() -> bool:
    """Switch the adapter on: BlueZ does not always do that after rfkill, and refuses for a moment."""
    with suppress(CommandError):
        run("bluetoothctl", "power", "on")
        return True
    return False


@asynccontextmanager
async def staying_in(
    air: Air, phase: str, work: Awaitable[object]
) -> AsyncIterator["asyncio.Future[object]"]:
    """Begin an operation, and have it stay in a phase."""
    stays = "" if phase in ("connecting", "held") else phase
    air.do("set", NUMBER, phases=[], stays_in=stays)
    if phase == "connecting":
        air.do("leave", NUMBER)
    running = asyncio.ensure_future(work)

    async def is_there() -> bool:
        match phase:
            case "connecting":
                return bool(air.do("adapter")["listens"])
            case "held":
                return running.done() and bool(air.state(NUMBER)["keep_alives"])
        return phase in air.state(NUMBER)["phases"]

    try:
        await async_poll_until(is_there, f"it stays in the phase {phase}")
        yield running
    finally:
        air.do("set", NUMBER, stays_in="")
        air.do("come_back", NUMBER)
        if phase == "services":  # it has not heard of the link's end
            air.do("lose_links", NUMBER)


def sleeps(air: Air) -> None:
    """The camera has disconnected, and sleeps."""
    poll_until(lambda: not air.state(NUMBER)["connected"], "it has disconnected", 15)
    air.do("doze", NUMBER)
    air.do("set", NUMBER, keep_alives=0)


async def outcome(running: Operation, seconds: float = ENDS_S) -> str:
    """The name of the error of an operation, which ends soon; empty if it has succeeded."""
    await asyncio.wait({running}, timeout=seconds)
    assert running.done(), "it goes on"
    error = running.exception()
    if error is None:
        return ""
    assert isinstance(error, BusError), error
    return error.name.removeprefix("org.wifimgrd1.Error.")


@pytest.mark.parametrize("fault", HOST_FAULTS)
async def test_the_host_fails_in_each_phase_of_a_wake(air: Air, hub: Daemon, fault: str) -> None:
    air.do("gopro", number=NUMBER)
    await hub.pair(ADDRESS)
    await hub.call("Release", "s", ADDRESS)
    for phase in HOST_FAULTS[fault]:
        sleeps(air)
        async with staying_in(air, phase, hub.wake(ADDRESS)) as running:
            break_host(air, fault)
            assert await outcome(running) == ("" if phase == "held" else "BluetoothUnavailable"), phase
            await hub.until_state("absent" if fault == "pulled" else "off")
        await mend_host(air, hub, fault)
        assert await hub.bonds(ADDRESS), phase
    sleeps(air)
    await hub.wake(ADDRESS)


@pytest.mark.parametrize(
    ("fault", "phases"), [("stopped", ("pairing", "access_point")), ("pulled", ("boot",))]
)
async def test_the_host_fails_in_each_phase_of_a_pairing(
    air: Air, hub: Daemon, fault: str, phases: tuple[str, ...]
) -> None:
    air.do("gopro", number=NUMBER)
    for phase in phases:
        async with staying_in(air, phase, hub.pair(ADDRESS)) as running:
            break_host(air, fault)
            assert await outcome(running) == "BluetoothUnavailable", phase
        await mend_host(air, hub, fault)
        air.do("set", NUMBER, pairing_mode=True)
        assert (await hub.pair(ADDRESS))["ssid"] == b"GP1001", phase
        await hub.unpair(ADDRESS)
        sleeps(air)
        air.do("forget", NUMBER)


async def test_a_link_that_is_lost_in_each_phase_is_tried_again(air: Air, hub: Daemon) -> None:
    air.do("gopro", number=NUMBER)
    await hub.pair(ADDRESS)
    await hub.call("Release", "s", ADDRESS)
    for phase in ("services", "access_point", "held"):
        sleeps(air)
        async with staying_in(air, phase, hub.wake(ADDRESS)) as running:
            air.do("set", NUMBER, stays_in="")
            air.do("lose_links", NUMBER)
            assert await outcome(running) == "", phase
        await hub.call("Release", "s", ADDRESS)


async def test_a_camera_hangs_or_a_bond_is_lost_in_a_phase(air: Air, hub: Daemon) -> None:
    air.do("gopro", number=NUMBER)
    await hub.pair(ADDRESS)
    await hub.call("Release", "s", ADDRESS)
    sleeps(air)
    async with staying_in(air, "access_point", hub.wake(ADDRESS, seconds=4)) as running:
        air.do("hang", NUMBER)
        assert await outcome(running) == "WakeFailed"
        air.do("hang", NUMBER, value=False)
        air.do("lose_links", NUMBER)
    # The camera has forgotten the host.
    sleeps(air)
    async with staying_in(air, "boot", hub.wake(ADDRESS)) as running:
        air.do("forget", NUMBER, pairing_mode=False)
        air.do("set", NUMBER, stays_in="")
        air.do("lose_links", NUMBER)
        assert await outcome(running, seconds=_ALL_TRIES_S) == "WakeFailed"
    assert await hub.bonds(ADDRESS)
    air.do("set", NUMBER, pairing_mode=True)
    await hub.pair(ADDRESS, again=True)
    await hub.call("Release", "s", ADDRESS)
    # And the host the camera.
    sleeps(air)
    async with staying_in(air, "access_point", hub.wake(ADDRESS)) as running:
        run("bluetoothctl", "remove", ADDRESS)
        assert await outcome(running) == "NotPaired"
    assert (await hub.error_of(hub.wake(ADDRESS)))[0] == "NotPaired"
    air.do("set", NUMBER, pairing_mode=True)
    await hub.pair(ADDRESS)


async def test_eight_cameras_are_paired_and_woken_at_once(air: Air, hub: Daemon) -> None:
    numbers = [f"20{number:02}" for number in range(8)]
    addresses = [f"D4:32:60:00:20:{number:02}" for number in range(8)]
    for number in numbers:
        air.do("gopro", number=number)
    paired = await asyncio.gather(*map(hub.pair, addresses))
    assert [camera["ssid"] for camera in paired] == [f"GP{number}".encode() for number in numbers]
    for address in addresses:
        await hub.call("Sleep", "ss", address, "gopro")
    poll_until(lambda: not any(air.state(number)["connected"] for number in numbers), "all sleep")
    taken = await asyncio.gather(*map(hub.wake, addresses))
    assert all(air.state(number)["access_point"] for number in numbers)
    measured(f"eight woken at once: {min(taken):.2f} to {max(taken):.2f} s")


@contextmanager
def another_program() -> Iterator[Callable[[str], None]]:
    """Another one that uses Bluetooth, with the default agent; gives what commands it."""
    with subprocess.Popen(
        ["bluetoothctl", "--agent", "NoInputNoOutput"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as program:
        assert program.stdin is not None

        def command(line: str) -> None:
            assert program.stdin is not None
            program.stdin.write(line + "\n")
            program.stdin.flush()

        command("default-agent")
        yield command
        command("quit")


def discovers() -> bool:
    """Whether anybody searches."""
    return "Discovering: yes" in run("bluetoothctl", "show")


async def test_another_programs_agent_and_search_are_left_alone(air: Air, hub: Daemon) -> None:
    air.do("gopro", number=NUMBER)
    with another_program() as command:
        command("scan on")
        poll_until(discovers, "it searches")
        assert (await hub.pair(ADDRESS))["ssid"] == b"GP1001"
        await hub.call("Sleep", "ss", ADDRESS, "gopro")
        sleeps(air)
        for _ in range(2):  # it is told of again, although nothing of it has changed
            hub.rows.clear()
            await hub.call("Search", "sua(ss)", "search", 2, [["fea6", ""]])
            assert [row["name"] for row in hub.rows] == ["GoPro 1001"]
        assert discovers(), "its search goes on"
        measured(f"woken beside another program's search: {await hub.wake(ADDRESS):.2f} s")
        command("scan off")
        poll_until(lambda: not discovers(), "nobody searches")
        await hub.call("Search", "sua(ss)", "search", 1, [["fea6", ""]])
        assert not discovers()
