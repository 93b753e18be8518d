"""The links of a simulated world: up, interrupted, restored, ended, and adopted after a restart."""

from __future__ import annotations

import asyncio
import json
import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from wifimgrd.daemon.ports import BackendMemory, LinkListener
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import BitRates, DeviceId, HeldLink, Link
from wifimgrd.domain.errors import ConnectionLost, WifimgrdError
from wifimgrd.simulator._camera import CAMERA_ADDRESS, Camera
from wifimgrd.simulator._scenario import Times

_SWING_S: Final = 3600.0
"""From one strongest moment to the next."""
_KBPS_2_4: Final = (14_400, 28_900, 43_300, 57_800, 86_700, 115_600, 130_000, 144_400)
"""802.11n, two streams of 20 MHz, short guard interval: IEEE 802.11-2020, table 19-28."""
_KBPS_5: Final = (65_000, 130_000, 195_000, 260_000, 390_000, 520_000, 585_000, 650_000, 780_000, 866_700)
"""802.11ac, two streams of 80 MHz; the last one with a short guard interval: table 21-33."""


def signal_after(percent: int, swing: int, up_s: float) -> int:
    """The signal of a link that is up for so long: `swing` percent around `percent`, which it begins with."""
    return min(100, max(0, percent + round(swing * math.sin(math.tau * up_s / _SWING_S))))


def rates_of(percent: int, frequency_mhz: int, salt: int = 0) -> BitRates:
    """The bit rates at a signal strength; another `salt` makes others, as interference does."""
    table = _KBPS_2_4 if Band.of_frequency(frequency_mhz) is Band.GHZ_2_4 else _KBPS_5
    best = percent * (len(table) - 1) // 100
    worse = zlib.crc32(salt.to_bytes(8)) % 2 if salt else 0
    return BitRates(table[max(0, best - worse)], table[max(0, best - 1)])


_MEMORY_KEY: Final = "simulated.link."
"""One key per interface, so that the cost of a join does not depend on the number of links."""


@dataclass(slots=True)
class _Held:
    held: HeldLink
    camera: Camera
    up: bool = True
    since_s: float = 0.0
    """Since when it is up, by the loop's clock."""
    readings: int = 0
    """How often its signal was read since the link is up."""
    timers: dict[str, asyncio.TimerHandle] = field(default_factory=dict)

    def after(self, name: str, seconds: float, then: Callable[[], None]) -> None:
        self.stop(name)
        self.timers[name] = asyncio.get_running_loop().call_later(seconds, then)

    def stop(self, name: str) -> bool:
        timer = self.timers.pop(name, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def stop_all(self) -> None:
        for name in tuple(self.timers):
            self.stop(name)


class Links:
    """All links, by interface. Only the links whose camera is off have timers of their own."""

    def __init__(self, times: Times, memory: BackendMemory, admits: Callable[[Camera], bool]) -> None:
        """`admits` returns whether a camera accepts a host again."""
        self.listener: LinkListener | None = None
        self.on_cut: Callable[[str], None] = _nothing
        """Called when no packet passes through an interface any longer."""
        self._times = times
        self._memory = memory
        self._admits = admits
        self._held: dict[str, _Held] = {}
        self._reading: asyncio.TimerHandle | None = None
        """The next reading of all links, while there is one."""

    def __contains__(self, interface: str) -> bool:
        return interface in self._held

    def current(self) -> list[HeldLink]:
        """The links that are up or interrupted."""
        return [replace(entry.held, up=entry.up) for entry in self._held.values()]

    def camera(self, interface: str) -> Camera | None:
        """The camera at the other end of a link; None where there is no link that is up."""
        entry = self._held.get(interface)
        return entry.camera if entry is not None and entry.up else None

    def since_s(self) -> Mapping[str, float]:
        """Since when each link that is up is, by its interface."""
        return {interface: entry.since_s for interface, entry in self._held.items() if entry.up}

    def up(self, held: HeldLink, camera: Camera) -> None:
        """Add a new link."""
        self._held[held.interface] = _Held(held, camera, since_s=asyncio.get_running_loop().time())
        self._read_later()
        camera.guests.add(held.interface)
        self._memory.note(_MEMORY_KEY + held.interface, _dump(held))

    def drop(self, interface: str) -> bool:
        """Remove a link without notifying the listener; False where there is none."""
        entry = self._held.pop(interface, None)
        if entry is None:
            return False
        entry.stop_all()
        entry.camera.guests.discard(interface)
        self._memory.note(_MEMORY_KEY + interface, None)
        self.on_cut(interface)
        return True

    def end(self, interface: str, error: WifimgrdError) -> None:
        """End a link and notify the listener."""
        if self.drop(interface) and self.listener is not None:
            self.listener.link_ended(interface, error)

    def end_all(self, error: WifimgrdError) -> None:
        """End every link and notify the listener."""
        for interface in tuple(self._held):
            self.end(interface, error)

    def camera_off(self, camera: Camera, *, orderly: bool) -> None:
        """A camera was switched off, with a deauthentication of its hosts (`orderly`) or without."""
        for interface in tuple(camera.guests):
            entry = self._held[interface]
            entry.stop("restore")
            if not entry.up:
                continue
            if orderly:
                self._interrupt(interface, "was switched off")
            else:
                entry.after("silence", self._times.silence_s, partial(self._fell_silent, interface))

    def camera_on(self, camera: Camera) -> None:
        """A camera is on again: its links are restored after `join_s`.

        It has lost its associations, so a power cut that was too short to be noticed interrupts them, too.
        """
        for interface in tuple(camera.guests):
            entry = self._held[interface]
            if entry.stop("silence"):
                self._interrupt(interface, "was switched off and on")
            if interface in self._held:
                entry.after("restore", self._times.join_s, partial(self._restore, interface))

    def refresh(self, camera: Camera) -> None:
        """A camera's signal changed."""
        for interface in tuple(camera.guests):
            self._read(interface)

    def settle(self) -> None:
        """The backend stops: drop interrupted links, keep those that are up."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        for interface, entry in tuple(self._held.items()):
            if not entry.up or not entry.camera.powered:
                self.drop(interface)

    def recall(self, interfaces: Iterable[str], cameras: Mapping[bytes, Camera]) -> None:
        """Adopt the links of an earlier run whose camera is on."""
        for interface in interfaces:
            if interface in self._held:
                continue
            stored = self._memory.recall(_MEMORY_KEY + interface)
            if stored is None:
                continue
            found = _load(stored, interface, cameras)
            if found is None:
                self._memory.note(_MEMORY_KEY + interface, None)
            else:
                self.up(*found)
        if self._held:
            self._read_later()

    def _fell_silent(self, interface: str) -> None:
        self._held[interface].stop("silence")
        self._interrupt(interface, "no longer answers")

    def _interrupt(self, interface: str, what: str) -> None:
        entry = self._held[interface]
        entry.up = False
        self.on_cut(interface)
        error = ConnectionLost(f"the connection was lost: the camera {entry.camera.label} {what}")
        entry.after("give up", self._times.give_up_s, partial(self.end, interface, error))
        if self.listener is not None:
            self.listener.link_interrupted(interface, error)

    def _restore(self, interface: str) -> None:
        entry = self._held[interface]
        entry.stop("restore")
        if not entry.camera.powered or not self._admits(entry.camera):
            return
        entry.stop("give up")
        entry.up, entry.readings, entry.since_s = True, 0, asyncio.get_running_loop().time()
        entry.held = replace(
            entry.held,
            link=replace(entry.held.link, signal_percent=entry.camera.signal_percent, rates=BitRates()),
        )
        if self.listener is not None:
            self.listener.link_restored(interface, entry.held.link)

    def _read_later(self) -> None:
        if self._reading is None:
            loop = asyncio.get_running_loop()
            self._reading = loop.call_later(self._times.reading_s, self._read_all)

    def _read_all(self) -> None:
        self._reading = None
        for interface, entry in tuple(self._held.items()):
            entry.readings += 1
            self._read(interface)
        if self._held and self.listener is not None:
            self._read_later()

    def _read(self, interface: str) -> None:
        """Report the signal and the bit rates of a link, if it is up."""
        entry = self._held.get(interface)
        if entry is None or not entry.up or self.listener is None:
            return
        plan, up_s = entry.camera.plan, entry.readings * self._times.reading_s
        percent = signal_after(entry.camera.signal_percent, plan.signal_swing, up_s)
        rates = rates_of(percent, plan.frequency_mhz, entry.readings if plan.signal_swing else 0)
        entry.held = replace(entry.held, link=replace(entry.held.link, signal_percent=percent, rates=rates))
        self.listener.link_changed(interface, entry.held.link)


def _nothing(interface: str) -> None:
    pass


def new_link(camera: Camera, mac: str) -> Link:
    """The link of a host to a camera."""
    return Link(camera.lease(mac), CAMERA_ADDRESS, camera.signal_percent, camera.plan.sighting)


def _dump(held: HeldLink) -> str:
    return json.dumps(
        {"device": held.device_id, "ssid": held.ssid.data.hex(), "local_address": held.link.local_address}
    )


def _load(stored: str, interface: str, cameras: Mapping[bytes, Camera]) -> tuple[HeldLink, Camera] | None:
    try:
        read = json.loads(stored)
        device, address = DeviceId(int(read["device"])), str(read["local_address"])
        camera = cameras.get(bytes.fromhex(read["ssid"]))
    except (ValueError, TypeError, KeyError):
        return None
    if camera is None or not camera.powered:
        return None
    link = Link(address, CAMERA_ADDRESS, camera.signal_percent, camera.plan.sighting)
    return HeldLink(device, interface, camera.plan.ssid, link), camera
