"""One attempt to join a network: find it, activate a profile, and wait for a link or an error."""

from __future__ import annotations

import asyncio
from typing import Final

from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.daemon.backends.networkmanager import _failure_reasons as failure_reasons
from wifimgrd.daemon.backends.networkmanager._activation_monitor import ActivationMonitor
from wifimgrd.daemon.backends.networkmanager._active_connection import (
    ActiveConnection,
    Joined,
    activate,
    deactivate,
    is_free,
    wait_for_state,
)
from wifimgrd.daemon.backends.networkmanager._changes import Changes
from wifimgrd.daemon.backends.networkmanager._devices import DeviceGone, NmDevice, StateChange
from wifimgrd.daemon.backends.networkmanager._inventory import Inventory
from wifimgrd.daemon.backends.networkmanager._ip_config import LinkReading
from wifimgrd.daemon.backends.supplicant.attempt import SupplicantAttempt, refused_by
from wifimgrd.daemon.backends.supplicant.bss_users import BssUsers
from wifimgrd.daemon.backends.supplicant.lease_check import LeaseCheck
from wifimgrd.daemon.backends.supplicant.network_search import locate
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.errors import AddressFailed, BackendUnavailable, InterfaceLost, WifimgrdError
from wifimgrd.domain.interface import taken, unplugged
from wifimgrd.proxies.networkmanager.definitions import DeviceState
from wifimgrd.proxies.networkmanager.device import Device
from wifimgrd.proxies.wpa_supplicant import bss
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS_INTERFACE_UNKNOWN
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface

_APPEARANCE_S: Final = 15.0
"""How long NetworkManager may take to add an adapter that udev has reported, and to make it ready: tenths of
a second, and on a host that is busy with other things some seconds."""

_NO_HELPER: Final = frozenset(
    bus_names.BUS_DAEMON + ".Error." + name
    for name in ("UnknownMethod", "ServiceUnknown", "NameHasNoOwner", "NoReply", "Disconnected", "TimedOut")
)


class Attempt(SupplicantAttempt[Joined]):
    """An attempt through NetworkManager, with wpa_supplicant watched beside it."""

    NO_REPLY = "NetworkManager does not answer"

    def __init__(
        self,
        connection: BusConnection,
        changes: Changes,
        inventory: Inventory,
        request: JoinRequest,
        deadline: float,
        check: LeaseCheck,
        users: BssUsers,
    ) -> None:
        super().__init__(request, deadline, check, users)
        self._connection = connection
        self._changes = changes
        self._inventory = inventory
        self._device: NmDevice | None = None
        self._supplicant: SupplicantInterface | None = None
        self._activation: ActiveConnection | None = None
        self._monitor: ActivationMonitor | None = None

    def _refusal(self, error: BusError) -> WifimgrdError:
        if error.name == bus_names.ACCESS_DENIED:
            self._log.error("access_denied", error=error.message)
            return BackendUnavailable(
                "the message bus denies wifimgrd access to NetworkManager or wpa_supplicant"
            )
        if self._device is None or self._device.path not in self._inventory.devices:
            return unplugged(self._request.interface)
        if error.name == WPAS_INTERFACE_UNKNOWN:
            return BackendUnavailable(
                f"wpa_supplicant does not have {self._request.interface}: it was restarted a moment ago, or "
                "NetworkManager uses iwd (`wifi.backend` in /etc/NetworkManager)"
            )
        who = refused_by(error)
        self._log.warning("join_refused", by=who, error=str(error))
        return BackendUnavailable(f"{who} refused: {error.message}")

    async def _join(self) -> Joined:
        self._device = device = await self._free_device()
        device.listeners.append(self._on_device_event)
        self._inventory.reserve(device, True)
        supplicant, points = await self._find(device)
        limit, key_management = await self._choose(supplicant, points)
        self._monitor = monitor = ActivationMonitor(
            self._connection, device, supplicant, self._request, points, limit
        )
        monitor.subscribe()
        activation = await self._activate(device, key_management, limit.bssid)
        reading = await self._wait_for_address(monitor)
        self._check.require_usable(self._ssid, reading)
        device.listeners.remove(self._on_device_event)
        monitor.close()
        return Joined(device, supplicant, activation, reading, limit.bssid)

    async def _wait_for_address(self, monitor: ActivationMonitor) -> LinkReading:
        """The link; where NetworkManager did not apply a lease that cannot be used, that is the error."""
        try:
            return await monitor.wait_until_activated()
        except AddressFailed:
            if (lease := monitor.lease) is not None:
                self._check.require_usable(self._ssid, lease)
            raise

    def _verdict_at_deadline(self) -> WifimgrdError:
        if self._device is None:
            return failure_reasons.no_device(self._request.interface)
        if self._monitor is None:
            return self._not_chosen_in_time()
        return self._monitor.at_deadline()

    async def _free_device(self) -> NmDevice:
        """The device, ready and idle; waits `_APPEARANCE_S` where NetworkManager is still setting it up."""
        name = self._request.interface
        device = await self._inventory.wait_for(name, _APPEARANCE_S)
        if device is None:
            raise failure_reasons.no_device(name)
        try:
            async with asyncio.timeout(_APPEARANCE_S):
                if not await wait_for_state(device, _is_settled):
                    raise unplugged(name)
        except TimeoutError:
            what = "does not manage" if device.state == DeviceState.UNMANAGED else "is not ready with"
            raise InterfaceLost(f"NetworkManager {what} the adapter {name}") from None
        if is_free(device.state):
            return device
        active = await Device(self._connection, device.path).active_connection()
        carried = await self._inventory.carried_by(active)
        if carried is None:
            return device
        if not carried.ours:
            raise taken(name, f'it carries the connection "{carried.name}"')
        self._log.info("leftover_removed", profile=carried.name)
        await deactivate(
            self._connection,
            self._changes,
            device,
            ActiveConnection(carried.uuid, carried.profile, carried.path),
        )
        return device

    async def _find(self, device: NmDevice) -> tuple[SupplicantInterface, list[bss.Bss]]:
        """Find the network: in the supplicant's list, then on the channels of earlier sightings, then on all.

        The scan also makes the access point known to NetworkManager before the join. NetworkManager 1.42
        treats an access point that it first sees during the join as roaming and requests another lease; if
        that happens just before it applies the first lease, it stays in IP_CONFIG.
        """
        points = await self._found(self._locate(device))
        assert self._supplicant is not None  # noqa: S101 - for the type checker
        return self._supplicant, points

    async def _locate(self, device: NmDevice) -> list[bss.Bss]:
        """Find the network through the device's object of the supplicant, which may be another one now."""
        if device.supplicant:
            self._supplicant = supplicant = SupplicantInterface(
                self._connection, device.supplicant, device.names
            )
            try:
                return await locate(supplicant, self._ssid, self._choice, device.bands)
            except BusError:  # the supplicant has created another object since
                supplicant.close()
        self._supplicant = supplicant = await SupplicantInterface.open(
            self._connection, device.name, device.names
        )
        device.supplicant = supplicant.path
        return await locate(supplicant, self._ssid, self._choice, device.bands)

    async def _activate(
        self, device: NmDevice, key_management: bss.KeyManagement, bssid: str
    ) -> ActiveConnection:
        remaining = self._deadline - asyncio.get_running_loop().time()
        try:
            self._activation = await activate(
                self._connection, self._changes, device, self._request, key_management, bssid, remaining
            )
        except (BusError, TimeoutError) as error:
            if isinstance(error, BusError) and error.name not in _NO_HELPER:
                raise
            self._log.warning("helper_missing", error=str(error) or "time-out")
            raise BackendUnavailable(
                "wifimgrd-net does not answer, or is of another version, as during an upgrade; "
                "`systemctl status wifimgrd-net` says more"
            ) from None
        return self._activation

    def _on_device_event(self, event: StateChange | DeviceGone) -> None:
        if isinstance(event, DeviceGone):
            self.abort(failure_reasons.device_gone(self._request.interface, is_unplugged=event.unplugged))
        elif self._monitor:
            self._monitor.post(event)

    async def _clean_up(self) -> None:
        monitor, supplicant, activation = self._monitor, self._supplicant, self._activation
        self._monitor = self._supplicant = self._activation = None
        if monitor:
            monitor.close()
        if self._device is None:
            return
        if self._on_device_event in self._device.listeners:
            self._device.listeners.remove(self._on_device_event)
        if supplicant:
            supplicant.close()
        try:
            if activation:
                await deactivate(self._connection, self._changes, self._device, activation)
        finally:  # an attempt that was aborted can be cancelled during its clean-up
            self._inventory.reserve(self._device, False)


def _is_settled(state: int) -> bool:
    return DeviceState.DISCONNECTED <= state <= DeviceState.ACTIVATED
