"""Follow an activation to a link or an error, from the events of NetworkManager and of wpa_supplicant."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon.backends.networkmanager import _failure_reasons as failure_reasons
from wifimgrd.daemon.backends.networkmanager._active_connection import is_free
from wifimgrd.daemon.backends.networkmanager._devices import NmDevice, StateChange
from wifimgrd.daemon.backends.networkmanager._ip_config import (
    READS_FOR_FIRST_ADDRESS,
    EarlyReader,
    LinkReading,
)
from wifimgrd.daemon.backends.supplicant import diagnosis
from wifimgrd.daemon.backends.supplicant.association import AssociationMonitor, SupplicantChange
from wifimgrd.daemon.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.proxies.networkmanager.definitions import DeviceReason, DeviceState
from wifimgrd.proxies.wpa_supplicant.bss import Bss
from wifimgrd.proxies.wpa_supplicant.definitions import InterfaceProperties
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface

_log = structlog.get_logger(__name__)


class ActivationMonitor(AssociationMonitor):
    """Processes the events of both services from the activation on, until the link is up or has failed."""

    def __init__(
        self,
        connection: BusConnection,
        device: NmDevice,
        supplicant: SupplicantInterface,
        request: JoinRequest,
        points: Sequence[Bss],
        limit: BssidLimit,
    ) -> None:
        """`points` and `limit` as for AssociationMonitor."""
        log = _log.bind(device=request.device_id, interface=request.interface)
        super().__init__(supplicant, request, points, limit, log)
        self._device = device
        self._reader = EarlyReader(connection, device, points)

    @property
    def lease(self) -> LinkReading | None:
        """The last lease, also where NetworkManager did not apply it."""
        return self._reader.lease

    def close(self) -> None:
        """Stop lookups and reads."""
        self._reader.close()
        super().close()

    def at_deadline(self) -> WifimgrdError:
        """The most likely error at the deadline; an error in the events that are still queued goes first."""
        while self.has_events:
            event = self.queued()
            try:
                if isinstance(event, StateChange):
                    self._check_failure(event)
                elif isinstance(event, SupplicantChange):
                    self.properties_changed(event.properties)
            except WifimgrdError as cause:
                return cause
        return failure_reasons.at_deadline(self.diagnosis, self._device.state, visible=self.visible)

    async def wait_until_activated(self) -> LinkReading:
        """Return the link when it is up; raises the cause as soon as one is known."""
        while True:
            event = await self.next_event()
            if isinstance(event, StateChange):
                self._on_device(event)
            else:
                await self.process(event)
            if self._is_up and not self.has_events:
                is_done = self._device.state == DeviceState.ACTIVATED  # it can change during the read
                reading = await self._reader.reading(READS_FOR_FIRST_ADDRESS if is_done else 1)
                if reading is not None and self._is_up and not self.has_events:
                    return reading
                if reading is None and is_done and self._device.state == DeviceState.ACTIVATED:
                    raise diagnosis.no_address(self._ssid)

    @property
    def _is_up(self) -> bool:
        return self._device.has_address and self.is_associated

    def _on_device(self, change: StateChange) -> None:
        self._check_failure(change)
        self._reader.reached(change.state)

    def _check_failure(self, change: StateChange) -> None:
        """Raise the cause where a change of state ends the attempt."""
        if change.state == DeviceState.NEED_AUTH and change.reason == DeviceReason.SUPPLICANT_DISCONNECT:
            raise self.diagnosis.handshake_failed()
        if change.state >= DeviceState.DEACTIVATING or is_free(change.state):
            if change.reason == DeviceReason.SSID_NOT_FOUND and self.visible:
                # NetworkManager gives this reason for every attempt that took 25 s.
                raise failure_reasons.at_deadline(self.diagnosis, self._device.state, visible=self.visible)
            raise failure_reasons.attempt_failed(change.reason, self.diagnosis, self._device.name)

    def properties_changed(self, changed: InterfaceProperties) -> None:
        """Process properties of the supplicant; raises the cause where they end the attempt."""
        if "CurrentBSS" in changed:
            self._reader.associated(changed["CurrentBSS"])
        super().properties_changed(changed)
