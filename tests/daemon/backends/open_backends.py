"""The backends on real adapters, with their parts in the open: where their tests reach into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wifimgrd.daemon.backends.networkmanager import NetworkManagerBackend
from wifimgrd.daemon.backends.networkmanager._service_watcher import ServiceWatcher
from wifimgrd.daemon.backends.supplicant.backend import SupplicantBackend
from wifimgrd.daemon.backends.supplicant.bss_users import BssUsers
from wifimgrd.daemon.backends.wpa_supplicant import WpaSupplicantBackend
from wifimgrd.daemon.backends.wpa_supplicant._inventory import Inventory, WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._services import Services
from wifimgrd.daemon.ports import BackendListener


class _Open(SupplicantBackend[Any, Any, Any]):
    """What both have."""

    @property
    def users(self) -> BssUsers:
        """Who uses which access point."""
        return self._users

    def report_to(self, listener: BackendListener) -> None:
        """Have a listener without a start."""
        self._listener = listener

    def has(self, links: Mapping[str, Any], attempts: Mapping[str, Any]) -> None:
        """Have these links and attempts, by their interfaces, and no others."""
        self._link_monitors, self._attempts = dict(links), dict(attempts)

    def adopt(self, *found: Any, cause: str = "") -> None:
        """Watch these links, as if they had been found; of those before, the others have ended for this
        cause."""
        self._watch_adopted(found, cause)

    def _use(self, services: Any) -> None:
        self._services = services


class OpenNetworkManager(_Open, NetworkManagerBackend):
    """The backend of NetworkManager."""

    def use(self, services: ServiceWatcher) -> None:
        """Have these services without a start."""
        self._use(services)


class OpenWpaSupplicant(_Open, WpaSupplicantBackend):
    """The backend of wpa_supplicant."""

    @property
    def services(self) -> Services:
        """The services that it watches now."""
        services: Services | None = self._services
        assert services is not None
        return services

    @property
    def inventory(self) -> Inventory:
        """Its list of interfaces."""
        return self._inventory

    def has_interface(self, interface: WifiInterface) -> None:
        """Know an interface that the kernel does not have."""
        self._inventory.interfaces[interface.index] = interface
