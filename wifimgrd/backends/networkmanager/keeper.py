"""A link that is up, watched until it ends: early loss, return, signal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import structlog

from wifimgrd.backends.networkmanager import defs, diagnosis
from wifimgrd.backends.networkmanager.activation import Joined, is_free
from wifimgrd.backends.networkmanager.carrier import Carrier
from wifimgrd.backends.networkmanager.defs import DeviceReason, DeviceState, ReasonCode, SupplicantState
from wifimgrd.backends.networkmanager.devices import Gone, StateChange
from wifimgrd.backends.networkmanager.following import watch_properties
from wifimgrd.backends.networkmanager.reading import LOOKS_FOR_FIRST_ADDRESS, Reading, look_for_link
from wifimgrd.backends.networkmanager.scans import ScanRefused
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, Signal, Watch
from wifimgrd.domain.device import HeldLink
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.ports import BackendListener
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger(__name__)

_BREATH_S: Final = 0.4
"""Between two looks for a network that dropped."""
_LOOKS_PER_FULL_SCAN: Final = 8
"""Looks on the known channel before all channels are scanned once: the camera may come back elsewhere."""
_LOOKS_FOR_KNOWN_ADDRESS: Final = 2
_PATIENCE_S: Final = 2.0
"""How long the supplicant may take to join a network that a look has found."""


class Keeper:
    """Watches one link through NetworkManager (the device) and the supplicant (the association).

    The supplicant tells of a loss 15 s before NetworkManager does; NetworkManager decides when a
    link is gone for good. The listener is told from `begin` on, until the link ended or `close`.
    """

    def __init__(
        self,
        connection: BusConnection,
        held: HeldLink,
        joined: Joined,
        tasks: Tasks,
    ) -> None:
        self.held = held
        self.device = joined.device
        self.activation = joined.activation
        self._connection = connection
        self._station = joined.station
        self._reading = joined.reading
        self._listener: BackendListener | None = None
        self._on_end: Callable[[Keeper], None] | None = None
        self._end_cause: WifimgrdError | None = None
        """Why the link is gone for good, where it is."""
        self._state: str = SupplicantState.COMPLETED
        self._reason = 0
        """The last reason for a disconnection that the supplicant gave; it comes before the state."""
        self._carrier = Carrier(connection, joined.device.path, self._carrier_lost)
        self._interrupted = False
        self._closed = False
        self._moved = asyncio.Event()
        self._watches: list[Watch] = []
        self._tasks = tasks
        self._seeker: asyncio.Task[None] | None = None
        self._log = _log.bind(device=held.device, interface=held.interface)
        self._station.on_change = self._changed
        self._station.on_scan_done = None
        self.device.ears.append(self._device_event)

    @property
    def is_up(self) -> bool:
        """False while the link is interrupted."""
        return not self._interrupted

    def begin(self, listener: BackendListener, on_end: Callable[[Keeper], None]) -> None:
        """Tell this listener from now on, also of what happened since the link came up.

        `on_end` is called when the link is gone for good, before the listener is told. Where it is gone
        already, both hear of it a moment later, once the listener has the link. Nothing begins where the
        link was let go of meanwhile.
        """
        if self._closed and self._end_cause is None:
            return
        self._listener = listener
        self._on_end = on_end
        if self._end_cause is None and not self.device.has_address:  # it fell while nobody was listening
            self._end_cause = diagnosis.link_ended(DeviceReason.NONE, self.held.ssid, self.held.interface)
        if self._end_cause is not None:
            asyncio.get_running_loop().call_soon(self.end, self._end_cause)
            return
        self._do(self._follow_readings)
        self._do(self._carrier.watch)
        # A moment later, too: who is about to get the link does not know of it yet.
        asyncio.get_running_loop().call_soon(self._drop_where_down)

    def note_state(self, state: str) -> None:
        """Take in the supplicant's state as it was found, for a link that is adopted."""
        self._state = state

    def close(self) -> None:
        """Stop watching, tell nobody."""
        self._closed = True
        if self._device_event in self.device.ears:
            self.device.ears.remove(self._device_event)
        self._listener = None
        self._tasks.cancel()
        self._carrier.drop()
        self._drop_watches()
        self._station.close()

    def end(self, error: WifimgrdError) -> None:
        """The link is gone for good: tell it and stop watching."""
        listener, on_end = self._listener, self._on_end
        self._end_cause = error
        self.close()
        if on_end:
            on_end(self)
            self._log.info("link_ended", code=error.code.value)
        if listener:
            listener.link_ended(self.held.interface, error)

    # -- what happens

    def _device_event(self, event: StateChange | Gone) -> None:
        match event:
            case Gone(pulled_out=True):
                self.end(diagnosis.adapter_gone(self.held.interface))
            case Gone():
                self.end(
                    diagnosis.link_ended(DeviceReason.NOW_UNMANAGED, self.held.ssid, self.held.interface)
                )
            case StateChange(state=state, reason=reason) if state >= DeviceState.DEACTIVATING or is_free(
                state
            ):
                self.end(diagnosis.link_ended(reason, self.held.ssid, self.held.interface))
            case StateChange(state=DeviceState.ACTIVATED) if self._interrupted:
                self._look_restored()
            case StateChange(state=DeviceState.ACTIVATED) if self._reading.ip4 == defs.NO_OBJECT:
                self._do(self._read_again)

    def _changed(self, changed: Mapping[str, Any]) -> None:
        self._reason = changed.get("DisconnectReason", self._reason)
        state = changed.get("State")
        if state is None:
            return
        self._state = state
        self._moved.set()
        self._drop_where_down()
        if state == SupplicantState.COMPLETED:
            self._look_restored()

    def _drop_where_down(self) -> None:
        if diagnosis.is_down(self._state):
            self._drop()

    def _drop(self) -> None:
        """The association is lost."""
        if self._listener is None or self._seeker is not None:
            return
        reason, self._reason = self._reason, 0
        self._interrupt(diagnosis.interrupted(self.held.ssid, reason), reason=reason)
        self._seeker = self._do(self._seek)

    def _carrier_lost(self) -> None:
        """The kernel ended the association, and the supplicant has not heard: it is told."""
        if self._state == SupplicantState.COMPLETED:
            self._log.warning("supplicant_unaware", effect="it is told that the association has ended")
            self._interrupt(diagnosis.interrupted(self.held.ssid, -ReasonCode.INACTIVITY))
            self._do(self._station.start_over)

    def _interrupt(self, cause: WifimgrdError, **facts: object) -> None:
        if self._interrupted or self._listener is None:
            return
        self._interrupted = True
        self._log.debug("association_lost", **facts)
        self._listener.link_interrupted(self.held.interface, cause)

    def _look_restored(self) -> None:
        if self._interrupted and self._state == SupplicantState.COMPLETED:
            self._do(self._restore)

    async def _restore(self) -> None:
        """The association is back: so is the link, if NetworkManager still has its addresses."""
        if self.device.state != DeviceState.ACTIVATED:
            return  # it renews them, and comes back to ACTIVATED
        reading = await self._read()
        up = self._state == SupplicantState.COMPLETED and self.device.state == DeviceState.ACTIVATED
        if reading is None or not up or not self._interrupted:
            return
        self._interrupted = False
        if self._seeker:
            self._seeker.cancel()
            self._seeker = None
        self._take(reading)
        self._log.info("link_restored")
        if self._listener:
            self._listener.link_restored(self.held.interface, reading.link)
        await self._follow_readings()  # NetworkManager may name the access point only now

    async def _seek(self) -> None:
        """Make the supplicant look for the network, mostly where it was, so that a camera that
        comes back is met at once and not in the supplicant's next scan of all channels. Ends with
        the interruption, which the manager bounds.
        """
        ssid, sighting = self.held.ssid, self._reading.link.sighting
        known = [sighting.frequency_mhz] if sighting else []
        looks = 0
        while True:
            found = False
            if diagnosis.is_down(self._state):
                looks += 1
                everywhere = looks % (_LOOKS_PER_FULL_SCAN + 1) == 0
                with contextlib.suppress(ScanRefused, BusError, TimeoutError):
                    found = bool(await self._station.look(ssid, () if everywhere else known))
            self._moved.clear()
            try:
                async with asyncio.timeout(_PATIENCE_S if found else _BREATH_S):
                    await self._moved.wait()
            except TimeoutError:
                continue

    # -- signal and addresses

    async def _follow_readings(self) -> None:
        """Watch, then read: what was read while the link came up may have changed since."""
        await self._watch_readings()
        await self._read_again()

    async def _watch_readings(self) -> None:
        """Follow the access point's strength and the addresses, as NetworkManager has them."""
        self._drop_watches()
        for path, interface in (
            (self._reading.access_point, defs.NM_ACCESS_POINT),
            (self._reading.ip4, defs.NM_IP4_CONFIG),
            (self.device.path, defs.NM_WIRELESS),
        ):
            if path != defs.NO_OBJECT:
                watch = await watch_properties(
                    self._connection, defs.NM, path, interface, self._reading_changed
                )
                self._watches.append(watch)  # the list may be another one than before the wait

    def _drop_watches(self) -> None:
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.drop()

    def _reading_changed(self, signal: Signal) -> None:
        changed = signal.body[1]
        if self._interrupted:
            if "AddressData" in changed:
                self._look_restored()
        elif not {"Strength", "AddressData", "ActiveAccessPoint"}.isdisjoint(changed):
            self._do(self._read_again)

    async def _read(self) -> Reading | None:
        """The link as NetworkManager shows it; None where it shows no address, and goes on to show none.

        What was read off the lease while the link came up it shows a moment later.
        """
        is_known = self.is_up and self._reading.ip4 != defs.NO_OBJECT
        looks = _LOOKS_FOR_KNOWN_ADDRESS if is_known else LOOKS_FOR_FIRST_ADDRESS
        reading = await look_for_link(self._connection, self.device, looks)
        return reading.after(self._reading) if reading else None

    async def _read_again(self) -> None:
        reading = await self._read()
        before = self._reading
        if reading is None and self.device.state == DeviceState.ACTIVATED:
            # NetworkManager waits once more as long as for the first address before it gives the link up.
            self._interrupt(diagnosis.not_renewed(self.held.ssid))
        if reading is None or self._interrupted or reading == before:
            return
        self._take(reading)
        if self._listener and reading.link != before.link:
            self._listener.link_changed(self.held.interface, reading.link)
        if (reading.access_point, reading.ip4) != (before.access_point, before.ip4):
            await self._follow_readings()

    def _take(self, reading: Reading) -> None:
        self._reading = reading
        self.held = HeldLink(self.held.device, self.held.interface, self.held.ssid, reading.link)

    # -- tasks

    def _do(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        return self._tasks.start(work.__name__, self._guarded(work))

    async def _guarded(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except (BusError, BusClosed, TimeoutError) as error:
            self._log.debug("link_unreadable", error=str(error))
