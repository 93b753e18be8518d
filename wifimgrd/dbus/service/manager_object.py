"""`org.wifimgrd1.Manager`: the hub itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from wifimgrd import __version__
from wifimgrd.dbus import names
from wifimgrd.dbus.bus import MethodCall, Variant
from wifimgrd.dbus.service.objects import ExportedObject
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import DeviceNotFound, InterfaceNotFound, InvalidRequest
from wifimgrd.domain.events import BackendStatus
from wifimgrd.domain.network import Network
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.manager.hub import Hub


class ManagerObject(ExportedObject):
    """The hub on the bus."""

    def __init__(
        self, hub: Hub, is_exported: Callable[[str], bool], reload: Callable[[], Awaitable[None]]
    ) -> None:
        """`is_exported` says whether there is an object at a path; `reload` reads the configuration again."""
        self._hub = hub
        self._is_exported = is_exported
        self._reload_configuration = reload
        super().__init__(
            names.ROOT_PATH,
            names.MANAGER,
            {
                "Version": __version__,
                "Backend": hub.backend_name,
                **backend_properties(hub.backend_status),
                "TotalInterfaces": 0,
                "AssignedInterfaces": 0,
                "Recoveries": dict.fromkeys(map(str, RecoveryStep), 0),
            },
        )
        self.methods = {
            "CreateDevice": self._create_device,
            "RemoveDevice": self._remove_device,
            "GetDevice": self._get_device,
            "GetInterface": self._get_interface,
            "Scan": self._scan,
            "GetNetworks": self._get_networks,
            "Reload": self._reload,
        }
        self.actions = {
            **dict.fromkeys(("CreateDevice", "RemoveDevice", "Reload"), names.MANAGE_DEVICES),
            "Scan": names.CONNECT,
        }

    async def _create_device(self, call: MethodCall) -> Sequence[Any]:
        return (names.device_path(await self._hub.create(call.body[0])),)

    async def _remove_device(self, call: MethodCall) -> Sequence[Any]:
        path = call.body[0]
        device = names.device_id_of(path)
        if device is None:
            raise DeviceNotFound(f"{path} is no device")
        await self._hub.remove(DeviceId(device))
        return ()

    async def _get_device(self, call: MethodCall) -> Sequence[Any]:
        path = names.device_path(call.body[0])
        if not self._is_exported(path):
            raise DeviceNotFound(f"there is no device {call.body[0]}")
        return (path,)

    async def _get_interface(self, call: MethodCall) -> Sequence[Any]:
        path = names.interface_path(call.body[0])
        if not self._is_exported(path):
            raise InterfaceNotFound(f"there is no interface {call.body[0]}")
        return (path,)

    async def _scan(self, call: MethodCall) -> Sequence[Any]:
        report = await self._hub.scan(_interface(call))
        return list(report.scanned), dict(report.skipped)

    async def _get_networks(self, call: MethodCall) -> Sequence[Any]:
        return ([_network_dictionary(one) for one in await self._hub.networks(_interface(call))],)

    async def _reload(self, call: MethodCall) -> Sequence[Any]:
        del call
        await self._reload_configuration()
        return ()


def _interface(call: MethodCall) -> str | None:
    name = call.body[0].get("interface")
    if name is not None and not isinstance(name, str):
        raise InvalidRequest("the option interface is a text", {"interface": ("Not a valid string.",)})
    return name


def _network_dictionary(network: Network) -> dict[str, Any]:
    """A network as GetNetworks answers it."""
    sightings = [point.sighting for point in network.points]
    device = names.NO_OBJECT if network.device is None else names.device_path(network.device)
    return {
        "ssid": Variant("ay", network.ssid.octets),
        "bssids": Variant("as", [sighting.bssid for sighting in sightings]),
        "frequencies": Variant("au", [sighting.frequency_mhz for sighting in sightings]),
        "security": Variant("s", network.security.value),
        "bands": Variant("as", [band.value for band in network.bands]),
        "signal_strength": Variant("y", network.signal_percent),
        "last_seen": Variant("t", network.last_seen_us),
        "interfaces": Variant("as", list(network.interfaces)),
        "device": Variant("o", device),
    }


def backend_properties(status: BackendStatus) -> dict[str, Any]:
    """The manager's properties that tell of the backend."""
    return {"BackendState": status.state.value, "BackendReason": status.reason}
