"""The state of the backend, by who is on the message bus and the states of NetworkManager's devices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from wifimgrd.bus.connection import OwnerChange
from wifimgrd.daemon.backends.networkmanager._devices import NmDevice
from wifimgrd.daemon.backends.networkmanager._service_watcher import ServiceWatcher
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.proxies.networkmanager.definitions import NM, DeviceState
from wifimgrd.proxies.wpa_supplicant.definitions import IWD, WPAS


class Listener:
    """Has the last status."""

    status: BackendStatus

    def status_changed(self, status: BackendStatus) -> None:
        self.status = status

    def device_seen(self, *_: object) -> None:
        """Not of interest here."""

    def supplicant_lost(self) -> None:
        """Not of interest here."""


class Settled(ServiceWatcher):
    """One that has reported its first state, when the bus has these services, and NetworkManager a device."""

    def __init__(self, listener: Any, state: DeviceState, owners: tuple[str, ...]) -> None:
        anything: Any = SimpleNamespace()
        super().__init__(anything, listener, anything)
        self._owners = {name: ":1.7" if name in owners else "" for name in (NM, WPAS, IWD)}
        devices = {"/1": SimpleNamespace(state=state)}
        inventory: Any = SimpleNamespace(radio=SimpleNamespace(enabled=True), devices=devices)
        self.inventory = inventory
        self._settled = True

    def owner_changes(self, name: str, before: str, after: str) -> None:
        self._owner_changed(OwnerChange(name, before, after))


@pytest.mark.parametrize(
    ("state", "owners", "expected"),
    [
        (DeviceState.DISCONNECTED, (NM, IWD), BackendState.UNAVAILABLE),
        (DeviceState.ACTIVATED, (NM, IWD), BackendState.UNAVAILABLE),
        (DeviceState.UNAVAILABLE, (NM, IWD), BackendState.STARTING),
        (DeviceState.UNMANAGED, (NM, IWD), BackendState.READY),
        (DeviceState.DISCONNECTED, (NM, WPAS, IWD), BackendState.READY),
    ],
)
def test_devices_that_are_ready_without_wpa_supplicant_use_iwd(
    state: DeviceState, owners: tuple[str, ...], expected: BackendState
) -> None:
    listener = Listener()
    watcher = Settled(listener, state, owners)
    watcher.device_seen(NmDevice("/1", {}, {}), None)
    assert listener.status.state is expected
    if expected is BackendState.UNAVAILABLE:
        assert listener.status.reason.startswith("NetworkManager uses iwd")
        assert "wifi.backend=wpa_supplicant" in listener.status.reason


def test_it_is_named_once_iwd_comes_and_not_any_more_once_wpa_supplicant_does() -> None:
    listener = Listener()
    watcher = Settled(listener, DeviceState.DISCONNECTED, (NM,))
    watcher.owner_changes(IWD, "", ":1.8")
    assert "iwd" in listener.status.reason
    watcher.owner_changes(WPAS, "", ":1.9")
    assert listener.status.state is BackendState.READY
