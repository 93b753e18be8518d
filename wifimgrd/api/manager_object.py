"""`org.wifimgrd1.Manager`: the hub itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from wifimgrd import __version__
from wifimgrd.api import names
from wifimgrd.api.objects import ExportedObject, switch, valid_text
from wifimgrd.bus.connection import MethodCall, Variant
from wifimgrd.bus.packing import Value, pack_rows
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import DeviceNotFound, InterfaceNotFound, InvalidRequest
from wifimgrd.domain.events import BackendStatus
from wifimgrd.domain.history import HistoryRow, parse_filter
from wifimgrd.domain.network import Network
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.domain.reservation import AbsentAdapter
from wifimgrd.manager.history import History
from wifimgrd.manager.hub import Hub


class ManagerObject(ExportedObject):
    """The hub on the bus."""

    def __init__(
        self,
        hub: Hub,
        is_exported: Callable[[str], bool],
        reload: Callable[[], Awaitable[None]],
        report: Callable[[], Awaitable[str]],
        history: History | None,
    ) -> None:
        """`is_exported` says whether there is an object at a path; `reload` reads the configuration again;
        `report` makes a report of a fault."""
        self._hub = hub
        self._history = history
        self._is_exported = is_exported
        self._reload_configuration = reload
        self._make_report = report
        super().__init__(
            names.ROOT_PATH,
            names.MANAGER,
            {
                "Version": __version__,
                "Backend": hub.backend_name,
                "BackendChoice": hub.backend_choice,
                **backend_properties(hub.backend_status),
                "TotalInterfaces": 0,
                "AssignedInterfaces": 0,
                **absent_properties(hub.absent_adapters),
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
            "GetHistory": self._get_history,
            "ForgetHistory": self._forget_history,
            "Diagnose": self._diagnose,
        }
        self.actions = {
            **dict.fromkeys(
                ("CreateDevice", "RemoveDevice", "Reload", "ForgetHistory"), names.MANAGE_DEVICES
            ),
            "Scan": names.CONNECT,
            "Diagnose": names.DIAGNOSE,
        }

    async def _create_device(self, call: MethodCall) -> Sequence[Any]:
        return (names.device_path(await self._hub.create(call.body[0])),)

    async def _remove_device(self, call: MethodCall) -> Sequence[Any]:
        path = call.body[0]
        device = names.device_id_of(path)
        if device is None:
            raise DeviceNotFound(f"{path} is no device")
        with_history = switch(call.body[1], "history", default=False)
        await self._hub.remove(DeviceId(device))
        if with_history and self._history is not None:
            self._history.forget(DeviceId(device))
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

    async def _get_history(self, call: MethodCall) -> Sequence[Any]:
        wanted = parse_filter(call.body[0])
        rows = [] if self._history is None else await self._history.read(wanted)
        return (pack_rows(map(_row_dictionary, rows)),)

    async def _forget_history(self, call: MethodCall) -> Sequence[Any]:
        if self._history is not None:
            self._history.forget(DeviceId(call.body[0]))
        return ()

    async def _diagnose(self, call: MethodCall) -> Sequence[Any]:
        del call
        return (await self._make_report(),)


def absent_properties(adapters: Iterable[AbsentAdapter]) -> dict[str, Any]:
    """The property of the adapters that are kept for a device and not plugged in."""
    rows = [
        {
            "device": Variant("o", names.device_path(one.device)),
            "mac": Variant("s", one.pin.mac),
            "usb_port": Variant("s", one.pin.usb_port),
            "interface": Variant("s", valid_text(one.interface)),
            "product": Variant("s", valid_text(one.product)),
            "unplugged": Variant("t", one.unplugged_us),
        }
        for one in adapters
    ]
    return {"AbsentAdapters": rows}


def _row_dictionary(row: HistoryRow) -> dict[str, Value]:
    """A row as GetHistory returns it; absent values are left out."""
    row_properties: dict[str, Value] = {
        "id": ("t", row.id),
        "time": ("t", max(0, row.time_us)),
        "kind": ("s", row.kind.value),
    }
    for name, signature, value in (
        ("device_id", "t", row.device_id),
        ("device_name", "s", row.device_name),
        ("interface", "s", row.interface),
        ("code", "s", row.code),
        ("message", "s", row.message),
        ("ended", "t", row.ended_us),
    ):
        if value:
            row_properties[name] = (signature, value)
    if row.signal_minimum is not None and row.signal_mean is not None:
        row_properties["signal_minimum"] = ("y", row.signal_minimum)
        row_properties["signal_mean"] = ("y", row.signal_mean)
    return row_properties


def _interface(call: MethodCall) -> str | None:
    name = call.body[0].get("interface")
    if name is not None and not isinstance(name, str):
        raise InvalidRequest("the option interface is a text", {"interface": ("Not a valid string.",)})
    return name


def _network_dictionary(network: Network) -> dict[str, Any]:
    """A network as GetNetworks returns it."""
    sightings = [point.sighting for point in network.points]
    device = names.NO_OBJECT if network.device_id is None else names.device_path(network.device_id)
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
        "codename": Variant("s", network.codename),
    }


def backend_properties(status: BackendStatus) -> dict[str, Any]:
    """The manager's properties of the backend."""
    return {"BackendState": status.state.value, "BackendReason": status.reason}
