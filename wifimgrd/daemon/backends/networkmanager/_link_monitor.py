"""Watch a link until it ends: loss, restoration, changes of addresses and of the access point."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from wifimgrd.bus.connection import BusConnection, Signal, Watch
from wifimgrd.daemon.backends.networkmanager import _failure_reasons as failure_reasons
from wifimgrd.daemon.backends.networkmanager._active_connection import Joined, deactivate, is_free
from wifimgrd.daemon.backends.networkmanager._changes import Changes
from wifimgrd.daemon.backends.networkmanager._devices import DeviceGone, StateChange
from wifimgrd.daemon.backends.networkmanager._ip_config import (
    READS_FOR_FIRST_ADDRESS,
    LinkReading,
    read_link_with_retries,
)
from wifimgrd.daemon.backends.supplicant import diagnosis
from wifimgrd.daemon.backends.supplicant.link_monitor import SupplicantLinkMonitor
from wifimgrd.domain.device import HeldLink, Ssid
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.interface import unplugged
from wifimgrd.proxies.networkmanager.definitions import NO_OBJECT, DeviceReason, DeviceState, InterfaceFlag
from wifimgrd.proxies.networkmanager.device import Device, WirelessDevice
from wifimgrd.proxies.networkmanager.objects import Ip4Config
from wifimgrd.proxies.wpa_supplicant.definitions import SupplicantState
from wifimgrd.runtime.tasks import Tasks

_READS_FOR_KNOWN_ADDRESS: Final = 2
_Watched = Ip4Config | WirelessDevice
_LATER_S: Final = 0.1
"""From the start of a link to the first reading: clients that wait for the link are served first, and
NetworkManager, which replies slowly while it finishes the activation."""
_NOTICE_S: Final = 0.3
"""How long after NetworkManager the supplicant may report the same loss; mostly it reports it first."""


class Carrier:
    """Watches a device's carrier (IFF_LOWER_UP), which a Wi-Fi interface has while it is associated: `watch`
    starts, `drop` stops.

    The kernel is watched beside wpa_supplicant because wpa_supplicant can miss the end of an association. If
    a station leaves, gets another MAC address (NetworkManager sets one for scans) and joins again at once,
    wpa_supplicant 2.10 takes the next disconnection event for the one that it requested itself. It then still
    reports "completed" although the association has ended, and NetworkManager stays ACTIVATED.
    """

    def __init__(self, connection: BusConnection, device: str, on_lost: Callable[[], None]) -> None:
        """`device` is NetworkManager's object path; `on_lost` is called when the carrier has been lost for
        `_NOTICE_S`, after which the supplicant should have reported it.
        """
        self._device = Device(connection, device)
        self._on_lost = on_lost
        self._watch: Watch | None = None
        self._notice: asyncio.TimerHandle | None = None

    async def watch(self) -> None:
        """Subscribe, then read; raises BusError, BusClosed, TimeoutError."""
        self._watch = await self._device.watch_properties(self._changed)
        self._apply(await self._device.interface_flags())

    def drop(self) -> None:
        """Stop calling `on_lost`; the caller cancels a `watch` that is still running first."""
        if self._watch:
            self._watch.drop()
            self._watch = None
        if self._notice:
            self._notice.cancel()

    def _changed(self, signal: Signal) -> None:
        flags = Device.changes(signal.body).get("InterfaceFlags")
        if flags is not None:
            self._apply(flags)

    def _apply(self, flags: int) -> None:
        if self._notice:
            self._notice.cancel()
            self._notice = None
        if not flags & InterfaceFlag.LOWER_UP:
            self._notice = asyncio.get_running_loop().call_later(_NOTICE_S, self._on_lost)


class LinkMonitor(SupplicantLinkMonitor[LinkReading]):
    """Watches one link through NetworkManager (the device) and the supplicant (the association).

    The supplicant reports a loss 15 s before NetworkManager does; NetworkManager decides when a
    link has ended.
    """

    def __init__(
        self,
        connection: BusConnection,
        changes: Changes,
        held: HeldLink,
        joined: Joined,
        tasks: Tasks,
        require_usable: Callable[[Ssid, LinkReading], None],
    ) -> None:
        super().__init__(held, joined, tasks, require_usable)
        self.device = joined.device
        self.activation = joined.activation
        self._connection = connection
        self._changes = changes
        self._carrier = Carrier(connection, joined.device.path, self._carrier_lost)
        self._watches: list[Watch] = []
        self._timer: asyncio.TimerHandle | None = None
        self._is_following = False
        """The readings are being followed, or were."""
        self._is_of_an_earlier_run = False
        """NetworkManager went away after the link came up."""
        self.device.listeners.append(self._device_event)

    @property
    def identity(self) -> str:
        """The profile's UUID, which no other link has."""
        return self.activation.uuid

    def state_changed(self, state: str) -> None:
        """Set the supplicant's state as it was read, for a link that is adopted."""
        self._state = state
        self._search.state_changed(state)

    def close(self) -> None:
        """Stop watching, without notifying the listener."""
        super().close()
        self._drop_manager()

    def manager_lost(self) -> None:
        """NetworkManager went away: follow only the supplicant, until the link is adopted or has ended. The
        next run of NetworkManager gives the link's object paths to others."""
        self._is_of_an_earlier_run = True
        self._drop_manager()

    def _drop_manager(self) -> None:
        if self._device_event in self.device.listeners:
            self.device.listeners.remove(self._device_event)
        if self._timer is not None:
            self._timer.cancel()
        self._carrier.drop()
        self._drop_watches()

    def _end_before_start(self) -> WifimgrdError | None:
        if self.device.has_address:
            return None
        return failure_reasons.link_ended(DeviceReason.NONE, self.held.ssid, self.held.interface)

    def _watch(self) -> None:
        if not self._is_of_an_earlier_run:
            self._timer = asyncio.get_running_loop().call_later(_LATER_S, self._follow)

    def _follow(self) -> None:
        self._is_following = True
        self._start_task(self._follow_readings)
        self._start_task(self._carrier.watch)

    async def _disconnect(self) -> None:
        if not self._is_of_an_earlier_run:
            await deactivate(self._connection, self._changes, self.device, self.activation)

    # -- events

    def _device_event(self, event: StateChange | DeviceGone) -> None:
        match event:
            case DeviceGone(unplugged=True):
                self.end(unplugged(self.held.interface))
            case DeviceGone():
                self.end(
                    failure_reasons.link_ended(
                        DeviceReason.NOW_UNMANAGED, self.held.ssid, self.held.interface
                    )
                )
            case StateChange(state=state, reason=reason) if state >= DeviceState.DEACTIVATING or is_free(
                state
            ):
                self.end(
                    self._refusal or failure_reasons.link_ended(reason, self.held.ssid, self.held.interface)
                )
            case StateChange(state=DeviceState.ACTIVATED) if self._interrupted:
                self._check_restored()
            case StateChange(state=DeviceState.ACTIVATED) if (
                self._is_following and self._reading.ip4 == NO_OBJECT
            ):
                self._start_task(self._read_again)

    def _associated(self) -> None:
        self._check_restored()

    def _carrier_lost(self) -> None:
        if self._state == SupplicantState.COMPLETED and not self._is_of_an_earlier_run:
            self._reassociate()

    def _check_restored(self) -> None:
        if self._interrupted and self._state == SupplicantState.COMPLETED:
            self._start_task(self._restore)

    async def _restore(self) -> None:
        """Associated again: report the link as restored if NetworkManager still has its addresses."""
        if self.device.state != DeviceState.ACTIVATED:
            return  # it renews them, and returns to ACTIVATED
        reading = await self._read()
        up = self._state == SupplicantState.COMPLETED and self.device.state == DeviceState.ACTIVATED
        if reading is None or not up or not self._interrupted or await self._refuse_unusable(reading):
            return
        self._apply(reading)
        await self._follow_readings()  # NetworkManager may name the access point only now

    # -- access point and addresses

    async def _follow_readings(self) -> None:
        """Subscribe, then read: the properties read while the link came up may have changed since."""
        await self._watch_readings()
        await self._read_again()

    async def _watch_readings(self) -> None:
        """Watch the access point and the addresses in NetworkManager."""
        self._drop_watches()
        for watched in (
            Ip4Config(self._connection, self._reading.ip4),
            WirelessDevice(self._connection, self.device.path),
        ):
            if watched.path != NO_OBJECT:
                watch = await watched.watch_properties(partial(self._reading_changed, watched))
                self._watches.append(watch)  # the list may have been replaced during the wait

    def _drop_watches(self) -> None:
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.drop()

    def _reading_changed(self, watched: _Watched, signal: Signal) -> None:
        changed = watched.changes(signal.body)
        if self._is_of_an_earlier_run:
            return
        if self._interrupted:
            if "AddressData" in changed:
                self._check_restored()
        elif not {"AddressData", "ActiveAccessPoint"}.isdisjoint(changed):
            self._start_task(self._read_again)

    async def _read(self) -> LinkReading | None:
        """The link as NetworkManager shows it; None where it shows no address even after repeated reads, and
        where NetworkManager went away.

        An address that was read from the lease while the link came up appears there a moment later.
        """
        is_known = self.is_up and self._reading.ip4 != NO_OBJECT
        reads = _READS_FOR_KNOWN_ADDRESS if is_known else READS_FOR_FIRST_ADDRESS
        reading = await read_link_with_retries(self._connection, self.device, reads)
        return reading.after(self._reading) if reading and not self._is_of_an_earlier_run else None

    async def _read_again(self) -> None:
        reading = await self._read()
        before = self._reading
        if self._is_of_an_earlier_run:
            return
        if reading is None and self.device.state == DeviceState.ACTIVATED:
            # NetworkManager waits as long again as for the first address before it ends the link.
            self._interrupt(diagnosis.not_renewed(self.held.ssid))
        if reading is None or self._interrupted or await self._refuse_unusable(reading) or reading == before:
            return
        self._apply(reading)
        if (reading.access_point, reading.ip4) != (before.access_point, before.ip4):
            await self._follow_readings()
