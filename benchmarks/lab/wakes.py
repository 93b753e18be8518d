"""How long it takes until a camera that slept is connected, without the time that the camera itself takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from benchmarks.lab.hub import Hub
from benchmarks.lab.joins import PART
from benchmarks.lab.stage import Stage, switched_on
from benchmarks.table import Row, Target
from tests.lab.bluetooth.access_points import Follower, following
from tests.lab.bluetooth.world import Air, emulated_air
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter
from tests.lab.guest.deadline import async_poll_until

_ROUNDS: Final = 7
_BOOT_S: Final = 1.0
_GOPRO: Final = ("1001", "D4:32:60:00:10:01")
_INSTA360: Final = "X4 34UQG5"
_SETTLED_S: Final = 20.0
_PLAIN: Final = "a plain join of the camera while it is awake"


async def wakes(stage: Stage, hub: Hub) -> list[Row]:
    """A bonded GoPro and an Insta360, of which the hub does not know that they sleep; on all channels."""
    adapter = await stage.plugged("1.7", "all")
    number, address = _GOPRO
    gopro = Camera("gopro", ssid=f"GP{number}", password="dive-1234", channel=6)
    insta360 = Camera("insta360", ssid=f"{_INSTA360}.OSC", channel=6)
    with emulated_air() as air, switched_on(gopro, insta360), following() as follow:
        air.do("gopro", number=number, boot_s=_BOOT_S)
        air.do("insta360", _INSTA360)
        await hub.bluetooth_ready()
        await hub.free(adapter.interface)
        sleeper = _Sleeper(air, follow(gopro, number, "access_point"), _BOOT_S)
        device = await hub.add(gopro, codename="gopro-hero12")
        await hub.pair(device, address)
        by_connection = await _measure(stage, hub, adapter, device, sleeper)
        await hub.remove(device)
        sleeper = _Sleeper(air, follow(insta360, _INSTA360, "awake"), 0.0)
        device = await hub.add(insta360, codename="insta360-x4")
        by_beacon = await _measure(stage, hub, adapter, device, sleeper)
        await hub.remove(device)
    adapter.unplug()
    return [
        Row(
            PART,
            f"asleep to connected, without the camera's own time: {name}",
            "s",
            ours,
            plain,
            _PLAIN,
            target,
        )
        for name, (ours, plain), target in (
            ("a GoPro", by_connection, Target("ours", 2.5)),
            ("an Insta360", by_beacon, Target("over", 1.5)),
        )
    ]


@dataclass(frozen=True, slots=True)
class _Sleeper:
    """A camera that is put to sleep and woken."""

    air: Air
    access_point: Follower
    boot_s: float
    """With the start of its access point, its own time."""

    async def sleeps(self) -> bool:
        """Have it fall asleep, once nobody is connected to it; whether it sleeps."""
        follower = self.access_point
        state = self.air.state(follower.name)
        if state[follower.flag] and not state.get("connected"):
            self.air.do("doze", follower.name)
        return not (state[follower.flag] or state.get("connected") or follower.is_on)


async def _measure(
    stage: Stage, hub: Hub, adapter: Adapter, device: int, sleeper: _Sleeper
) -> tuple[list[float], list[float]]:
    """Seconds of each wake with its join, without the camera's own time; and of each plain join."""
    woken: list[float] = []
    plain: list[float] = []
    await hub.connected(device, wake=True)  # from now on it is known
    for _ in range(_ROUNDS):
        await hub.disconnect(device)
        await stage.forget(adapter)
        plain.append(await hub.connected(device))
        await hub.disconnect(device)
        await async_poll_until(sleeper.sleeps, "the camera sleeps", _SETTLED_S)
        await stage.forget(adapter)
        starts_s = sleeper.access_point.starts_s
        before = len(starts_s)
        seconds = await hub.connected(device, wake=True)
        [start_s] = starts_s[before:]
        woken.append(seconds - sleeper.boot_s - start_s)
    return woken, plain
