"""From an activation to a link or a cause: NetworkManager and the supplicant heard side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog

from wifimgrd.backends.networkmanager import diagnosis
from wifimgrd.backends.networkmanager.activation import is_free
from wifimgrd.backends.networkmanager.air import Bss
from wifimgrd.backends.networkmanager.defs import DeviceReason, DeviceState, SupplicantState
from wifimgrd.backends.networkmanager.devices import NmDevice, StateChange
from wifimgrd.backends.networkmanager.reading import LOOKS_FOR_FIRST_ADDRESS, EarlyReader, Reading
from wifimgrd.backends.networkmanager.scans import ScanRefused
from wifimgrd.backends.networkmanager.supplicant import Station
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.ports import JoinRequest

_log = structlog.get_logger(__name__)

_QUIET_S: Final = 0.5
"""After this long without an association and without a word of the supplicant, a second look is due."""
_SECOND_LOOKS: Final = 4
"""Then the supplicant is left to itself until the time is over."""


@dataclass(frozen=True, slots=True)
class ScanEnd:
    """A scan of the supplicant ended."""

    complete: bool


@dataclass(frozen=True, slots=True)
class Looked:
    """A scan, or a second look of ours, was looked through for the network."""

    heard: bool


Event = StateChange | ScanEnd | Looked | Mapping[str, Any]


class Ascent:
    """Takes in what both sides say from the activation on, until the link is up or cannot be."""

    def __init__(
        self,
        connection: BusConnection,
        device: NmDevice,
        station: Station,
        request: JoinRequest,
        points: Sequence[Bss],
    ) -> None:
        self._device = device
        self._reader = EarlyReader(connection, device, points)
        self._station = station
        self._ssid = request.ssid
        self._points = points
        self._witness = diagnosis.Witness(
            request.ssid,
            sae=any(point.offers_sae for point in points),
            protected=not request.passphrase.is_open,
        )
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._looker: asyncio.Task[None] | None = None
        self._second_looks = 0
        self._heard = False
        """The last look has shown the network."""
        self._log = _log.bind(device=request.device, interface=request.interface)

    def listen(self) -> None:
        """Hear the supplicant from now on; what NetworkManager says comes through `post`."""
        self._station.on_change = self.post
        self._station.on_scan_done = lambda complete: self.post(ScanEnd(complete))

    def post(self, event: Event) -> None:
        """Something happened."""
        self._events.put_nowait(event)

    def close(self) -> None:
        """Look and read no more."""
        self._reader.close()
        if self._looker:
            self._looker.cancel()

    def at_deadline(self) -> WifimgrdError:
        """The best that can be said when the time is over; a cause that is known by then goes first."""
        while not self._events.empty():
            event = self._events.get_nowait()
            try:
                if isinstance(event, StateChange):
                    self._judge(event)
                elif isinstance(event, Mapping):
                    self._on_supplicant(event)
            except WifimgrdError as cause:
                return cause
        return self._witness.at_deadline(self._device.state, heard=self._heard)

    async def reach_the_top(self) -> Reading:
        """Return the link when it is up; raises the cause as soon as one is known."""
        while True:
            event = await self._next_event()
            if isinstance(event, StateChange):
                self._on_device(event)
            elif isinstance(event, Mapping):
                self._on_supplicant(event)
            elif isinstance(event, ScanEnd):
                await self._on_scan_end(event)
            elif isinstance(event, Looked):
                self._on_look(event)
            else:
                self._looker = asyncio.get_running_loop().create_task(self._look_again())
            if self._is_up and self._events.empty():
                is_done = self._device.state == DeviceState.ACTIVATED  # it may be by the end of a look
                reading = await self._reader.reading(LOOKS_FOR_FIRST_ADDRESS if is_done else 1)
                if reading is not None and self._is_up and self._events.empty():
                    return reading
                if reading is None and is_done and self._device.state == DeviceState.ACTIVATED:
                    raise diagnosis.no_address(self._ssid)

    @property
    def _is_up(self) -> bool:
        return self._device.has_address and not diagnosis.is_down(self._witness.state)

    def _on_device(self, change: StateChange) -> None:
        self._judge(change)
        self._reader.reached(change.state)

    def _judge(self, change: StateChange) -> None:
        """Raise the cause, where a step is the end of the attempt."""
        if change.state == DeviceState.NEED_AUTH and change.reason == DeviceReason.SUPPLICANT_DISCONNECT:
            raise diagnosis.wrong_password(self._ssid)
        if change.state >= DeviceState.DEACTIVATING or is_free(change.state):
            if change.reason == DeviceReason.SSID_NOT_FOUND and self._heard:
                raise self._witness.at_deadline(
                    self._device.state, heard=self._heard
                )  # which it says of any that took 25 s
            raise diagnosis.attempt_failed(change.reason, self._ssid, self._device.name)

    def _on_supplicant(self, changed: Mapping[str, Any]) -> None:
        if "State" in changed:
            self._log.debug("supplicant_state", state=changed["State"])
        if "CurrentBSS" in changed:
            self._reader.associated(changed["CurrentBSS"])
        if verdict := self._witness.hear(changed):
            codes = {key: value for key, value in changed.items() if key.endswith(("Code", "Reason"))}
            self._log.info("supplicant_verdict", state=self._witness.furthest, **codes)
            raise verdict

    async def _on_scan_end(self, scan: ScanEnd) -> None:
        """See whether the network was heard in a scan that the supplicant made to join it.

        In one that ran before it was asked to, it is not "scanning": NetworkManager's own, say, which ends
        halfway where it sets the adapter's address.
        """
        if scan.complete and self._witness.state == SupplicantState.SCANNING and not self._looker:
            heard = bool(await self._station.heard_in_scan(self._ssid))
            self._log.debug("supplicant_scanned", heard=heard)
            self.post(Looked(heard))

    def _on_look(self, look: Looked) -> None:
        """A look that did not show the network is the proof that it is not there.

        Unless the supplicant has begun to join it meanwhile, of what it had heard before: that
        stands in the queue before this.
        """
        self._heard = look.heard
        if not look.heard and diagnosis.is_down(self._witness.state):
            raise diagnosis.not_seen(self._ssid)

    async def _next_event(self) -> Event | None:
        """What happens next; None where nothing does and a second look is due."""
        down = diagnosis.is_down(self._witness.state)
        idle = down and not self._looker and self._second_looks < _SECOND_LOOKS
        try:
            async with asyncio.timeout(_QUIET_S if idle else None):
                return await self._events.get()
        except TimeoutError:
            return None

    async def _look_again(self) -> None:
        """Look for a network that was there and did not take us: where it was, then everywhere.

        The supplicant would do the same, but after a pause that grows to 10 s with each failure,
        and on all channels. It joins what a scan shows, so that this is its next try, too.
        """
        self._second_looks += 1
        heard = True  # until a look shows that it is not
        try:
            for channels in (tuple({point.frequency_mhz for point in self._points}), ()):
                heard = bool(await self._station.look(self._ssid, channels))
                self._log.debug("looked_again", channels=channels or "all", heard=heard)
                if heard:
                    break
        except (ScanRefused, BusError, BusClosed, TimeoutError) as error:
            self._log.debug("not_looked_again", error=str(error))
        self._looker = None
        self.post(Looked(heard))
