"""One attempt to join a network: look for it, activate, and see it through to a link or a cause."""

from __future__ import annotations

import asyncio
import uuid
from typing import Final, cast

import structlog

from wifimgrd.backends.networkmanager import air, defs, diagnosis
from wifimgrd.backends.networkmanager.activation import (
    Activation,
    Joined,
    activate,
    is_free,
    take_down,
    wait_for_state,
)
from wifimgrd.backends.networkmanager.ascent import Ascent
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import Gone, NmDevice, StateChange
from wifimgrd.backends.networkmanager.inventory import Inventory
from wifimgrd.backends.networkmanager.profile import settings_for
from wifimgrd.backends.networkmanager.scans import ScanRefused
from wifimgrd.backends.networkmanager.supplicant import Station
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError
from wifimgrd.domain.errors import (
    BackendUnavailable,
    DeviceNotReachable,
    InterfaceLost,
    WifimgrdError,
)
from wifimgrd.ports import JoinRequest

_log = structlog.get_logger(__name__)

_APPEARANCE_S: Final = 5.0
"""How long NetworkManager may take to have an adapter that udev has, and to make it ready."""
_FRESH_S: Final = 3
"""The supplicant joins at once what it heard in its last scan, if that is less than 5 s old
(scan_res_valid_for_connect); older results are worth a look on their channel first."""


class Attempt:
    """The flow of one join. `run` once; `abort` from outside where there is no sense in going on."""

    def __init__(
        self, connection: BusConnection, inventory: Inventory, request: JoinRequest, deadline: float
    ) -> None:
        self._connection = connection
        self._inventory = inventory
        self._request = request
        self._ssid = request.ssid
        self._deadline = deadline  # loop time
        self._device: NmDevice | None = None
        self._station: Station | None = None
        self._activation: Activation | None = None
        self._ascent: Ascent | None = None
        self._body: asyncio.Task[Joined] | None = None
        self._abort_cause: WifimgrdError | None = None
        self._log = _log.bind(device=request.device, interface=request.interface)

    def abort(self, cause: WifimgrdError) -> None:
        """End the attempt with this error, as soon as it is cleaned up."""
        if self._body and not self._body.done() and not self._abort_cause:
            self._abort_cause = cause
            self._body.cancel()

    async def run(self) -> Joined:
        """Bring the link up. Raises the errors of Backend.join; then nothing is left of the attempt."""
        self._body = asyncio.get_running_loop().create_task(self._join())
        try:
            return await self._body
        except BaseException as error:  # noqa: BLE001 - cancellation, too, leaves nothing behind
            await self._clean_up()
            raise self._cause_of(error) from None

    def _cause_of(self, error: BaseException) -> BaseException:
        if isinstance(error, asyncio.CancelledError) and self._abort_cause:
            return self._abort_cause
        if isinstance(error, BusError):
            if error.name == defs.ACCESS_DENIED:
                self._log.error("access_denied", error=error.message)
                return BackendUnavailable(
                    "the message bus keeps wifimgrd from NetworkManager or wpa_supplicant"
                )
            if self._device is None or self._device.path not in self._inventory.devices:
                return diagnosis.adapter_gone(self._request.interface)
            who = "wpa_supplicant" if error.name.startswith(defs.WPAS) else "NetworkManager"
            self._log.warning("join_refused", by=who, error=str(error))
            return BackendUnavailable(f"{who} refused: {error.message}")
        if isinstance(error, BusClosed):
            return BackendUnavailable("the connection to the message bus was lost")
        if isinstance(error, TimeoutError):
            return BackendUnavailable("NetworkManager does not answer")
        return error

    async def _join(self) -> Joined:
        try:
            async with asyncio.timeout_at(self._deadline) as limit:
                self._device = device = await self._free_device()
                device.ears.append(self._hear)
                self._inventory.reserve(device, True)
                station, points = await self._find(device)
                key_management = air.choose_key_management(points, self._ssid, self._request.passphrase)
                self._ascent = ascent = Ascent(self._connection, device, station, self._request, points)
                ascent.listen()
                activation = await self._activate(device, key_management)
                reading = await ascent.reach_the_top()
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._verdict_at_deadline() from None
        device.ears.remove(self._hear)
        ascent.close()
        return Joined(device, station, activation, reading)

    def _verdict_at_deadline(self) -> WifimgrdError:
        if self._device is None:
            return InterfaceLost(f"NetworkManager does not know the adapter {self._request.interface}")
        if self._ascent is None:
            seconds = f"{self._request.timeout_s:g}"
            return DeviceNotReachable(
                f'the network "{self._ssid.printable}" was not found within {seconds} s'
            )
        return self._ascent.at_deadline()

    async def _free_device(self) -> NmDevice:
        """The device, ready and idle; waits a little where NetworkManager is not done with it yet."""
        name = self._request.interface
        device = await self._inventory.wait_for(name, _APPEARANCE_S)
        if device is None:
            raise InterfaceLost(f"NetworkManager does not know the adapter {name}")
        try:
            async with asyncio.timeout(_APPEARANCE_S):
                if not await wait_for_state(device, _is_settled):
                    raise diagnosis.adapter_gone(name)
        except TimeoutError:
            what = "does not manage" if device.state == DeviceState.UNMANAGED else "is not ready with"
            raise InterfaceLost(f"NetworkManager {what} the adapter {name}") from None
        if is_free(device.state):
            return device
        active = await self._connection.get(defs.NM, device.path, defs.NM_DEVICE, "ActiveConnection")
        carried = await self._inventory.carried_by(active)
        if carried is None:
            return device
        if not carried.ours:
            raise InterfaceLost(f'the adapter {name} carries the connection "{carried.name}"')
        self._log.info("leftover_removed", profile=carried.name)
        await take_down(self._connection, device, Activation(carried.uuid, carried.profile, carried.path))
        return device

    async def _meet(self, device: NmDevice) -> tuple[Station, list[air.Bss]]:
        """The supplicant's side of the device, listened to, and what it has in its list already."""
        if device.station:
            self._station = Station(self._connection, device.station, device.names)
            try:
                return self._station, await self._listed(self._station)
            except BusError:  # another one by now
                self._station.close()
        self._station = station = await Station.open(self._connection, device.name, device.names)
        device.station = station.path
        return station, await self._listed(station)

    async def _listed(self, station: Station) -> list[air.Bss]:
        listening, listed = await asyncio.gather(
            station.listen(), station.networks(self._ssid), return_exceptions=True
        )
        for outcome in (listening, listed):
            if isinstance(outcome, BaseException):
                raise outcome
        return cast("list[air.Bss]", listed)

    async def _find(self, device: NmDevice) -> tuple[Station, list[air.Bss]]:
        """Find the network: in the supplicant's list, where it was met before, on all channels.

        NetworkManager, too, learns of the access point so before it joins it. One that it meets by joining
        it, NetworkManager 1.42 takes for roaming and asks for another lease; where it was just about to take
        over the first one, it stays in IP_CONFIG.
        """
        station, listed = await self._meet(device)
        if fresh := [point for point in listed if point.age_s < _FRESH_S]:
            return station, fresh
        frequencies = air.frequencies_to_try(self._request.sightings, listed, device.bands)
        try:
            points = await station.search(self._ssid, frequencies)
        except ScanRefused:
            raise BackendUnavailable(f"wpa_supplicant does not scan on {device.name}") from None
        if not points:
            raise diagnosis.not_seen(self._ssid)
        return station, points

    async def _activate(self, device: NmDevice, key_management: air.KeyManagement) -> Activation:
        remaining = self._deadline - asyncio.get_running_loop().time()
        identity = str(uuid.uuid4())
        settings = settings_for(self._request, key_management, identity, remaining)
        self._activation = await activate(self._connection, device, identity, settings)
        return self._activation

    def _hear(self, event: StateChange | Gone) -> None:
        if isinstance(event, Gone):
            self.abort(diagnosis.device_gone(self._request.interface, event.pulled_out))
        elif self._ascent:
            self._ascent.post(event)

    async def _clean_up(self) -> None:
        if self._ascent:
            self._ascent.close()
        if self._device is None:
            return
        if self._hear in self._device.ears:
            self._device.ears.remove(self._hear)
        if self._station:
            self._station.close()
        try:
            if self._activation:
                await take_down(self._connection, self._device, self._activation)
        finally:  # an attempt that was ended may be cancelled on top of it
            self._inventory.reserve(self._device, False)


def _is_settled(state: int) -> bool:
    return DeviceState.DISCONNECTED <= state <= DeviceState.ACTIVATED
