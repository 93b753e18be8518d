"""`org.wifimgrd1.Manager`: the hub itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, Literal

from wifimgrd import __version__
from wifimgrd.bus.connection import MethodCall
from wifimgrd.bus.packing import pack_rows
from wifimgrd.bus.values import typed
from wifimgrd.daemon.api._objects import ExportedInterface, switch, text_option
from wifimgrd.daemon.manager.history import History
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.domain import sentences
from wifimgrd.domain.check import check, parse_wanted
from wifimgrd.domain.device import DeviceId, DeviceStatus
from wifimgrd.domain.errors import DeviceNotFound, InterfaceNotFound, InvalidRequest
from wifimgrd.domain.history import parse_filter
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.power import LONGEST_SEARCH_S, SEARCH_S
from wifimgrd.domain.records import (
    FindingRecord,
    ServiceRecord,
    absent_record,
    device_record,
    history_record,
    network_record,
    outcome_record,
    result_record,
    take_record,
)
from wifimgrd.domain.recovery import RECOVERY_STEPS, RecoveryStep
from wifimgrd.domain.rig import Everyone
from wifimgrd.domain.takes import parse_take_filter
from wifimgrd.wire import names
from wifimgrd.wire.properties import properties_of, row_of, variants_of

ACTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("CreateDevice", "RemoveDevice", "RecoverInterface", "Reload", "ForgetHistory"),
            names.MANAGE_DEVICES,
        ),
        "Scan": names.CONNECT,
        "SearchBluetooth": names.CONNECT,
        "ConnectGroup": names.CONNECT,
        **dict.fromkeys(("StartRecording", "StopRecording"), names.CONTROL_CAMERAS),
        "Diagnose": names.DIAGNOSE,
    }
)
"""The polkit actions of the methods."""


class ManagerObject(ExportedInterface):
    """The hub on the bus."""

    def __init__(
        self,
        hub: Hub,
        is_exported: Callable[[str], bool],
        reload: Callable[[], Awaitable[None]],
        report: Callable[[], Awaitable[str]],
        history: History,
    ) -> None:
        """`is_exported` says whether there is an object at a path; `reload` reads the configuration again;
        `report` makes a report of a fault."""
        self._hub = hub
        self._history = history
        self._is_exported = is_exported
        self._reload_configuration = reload
        self._make_report = report
        self.record = ServiceRecord(
            version=__version__,
            backend=hub.backend_name,
            backend_choice=hub.backend_choice,
            backend_state=hub.backend_status.state.value,
            backend_reason=hub.backend_status.reason,
            bluetooth_state=hub.bluetooth.status.state.value,
            bluetooth_reason=hub.bluetooth.status.reason,
            absent_adapters=tuple(map(absent_record, hub.absent_adapters)),
            groups=hub.groups.all,
            missing_members=hub.groups.missing,
            unmatched_reservations=hub.unmatched_reservations,
            recoveries=dict.fromkeys(RECOVERY_STEPS, 0),
        )
        super().__init__(names.ROOT_PATH, names.MANAGER, properties_of(self.record))
        self.methods = {
            "CreateDevice": self._create_device,
            "RemoveDevice": self._remove_device,
            "GetDevice": self._get_device,
            "GetInterface": self._get_interface,
            "RecoverInterface": self._recover_interface,
            "Scan": self._scan,
            "GetNetworks": self._get_networks,
            "SearchBluetooth": self._search_bluetooth,
            "GetBluetoothDevices": self._get_bluetooth_devices,
            "ConnectGroup": self._connect_group,
            "StartRecording": partial(self._record, True),
            "StopRecording": partial(self._record, False),
            "Reload": self._reload,
            "Check": self._check,
            "GetHistory": self._get_history,
            "GetTakes": self._get_takes,
            "ForgetHistory": self._forget_history,
            "Diagnose": self._diagnose,
        }
        self.actions = ACTIONS

    async def _create_device(self, call: MethodCall) -> Sequence[object]:
        [properties] = typed(tuple[dict[str, object]], call.body)
        return (names.device_path(await self._hub.create(properties)),)

    async def _remove_device(self, call: MethodCall) -> Sequence[object]:
        path, options = typed(tuple[str, dict[str, object]], call.body)
        device = _device_at(path)
        with_history = switch(options, "history", default=False)
        await self._hub.remove(device)
        if with_history:
            self._history.forget(device)
        return ()

    async def _get_device(self, call: MethodCall) -> Sequence[object]:
        [device_id] = typed(tuple[int], call.body)
        path = names.device_path(device_id)
        if not self._is_exported(path):
            raise DeviceNotFound.of(device_id)
        return (path,)

    async def _get_interface(self, call: MethodCall) -> Sequence[object]:
        [name] = typed(tuple[str], call.body)
        path = names.interface_path(name)
        if not self._is_exported(path):
            raise InterfaceNotFound.of(name)
        return (path,)

    async def _recover_interface(self, call: MethodCall) -> Sequence[object]:
        name, step, _ = typed(tuple[str, str, dict[str, object]], call.body)
        await self._hub.recover_interface(name, _step(step))
        return ()

    async def _scan(self, call: MethodCall) -> Sequence[object]:
        report = await self._hub.scan(_interface(call))
        return list(report.scanned), dict(report.skipped)

    async def _get_networks(self, call: MethodCall) -> Sequence[object]:
        networks = await self._hub.networks(_interface(call))
        return ([variants_of(network_record(one)) for one in networks],)

    async def _search_bluetooth(self, call: MethodCall) -> Sequence[object]:
        [options] = typed(tuple[dict[str, object]], call.body)
        await self._hub.bluetooth.search(_seconds(options))
        return self._bluetooth_rows()

    async def _get_bluetooth_devices(self, call: MethodCall) -> Sequence[object]:
        del call
        return self._bluetooth_rows()

    def _bluetooth_rows(self) -> Sequence[object]:
        return ([variants_of(one) for one in self._hub.bluetooth.records()],)

    async def _record(self, on: bool, call: MethodCall) -> Sequence[object]:
        paths, options = typed(tuple[list[str], dict[str, object]], call.body)
        everyone = Everyone.of(
            everyone=switch(options, "all", default=False),
            connected=switch(options, "connected", default=False),
        )
        found = await self._hub.cameras.record(map(_device_at, paths), on=on, everyone=everyone)
        return ([variants_of(result_record(device_id, one)) for device_id, one in found.items()],)

    async def _connect_group(self, call: MethodCall) -> Sequence[object]:
        name, options = typed(tuple[str, dict[str, object]], call.body)
        ends = await self._hub.groups.connect(name, partial=switch(options, "partial", default=False))
        return ([variants_of(outcome_record(device_id, why)) for device_id, why in ends.items()],)

    async def _check(self, call: MethodCall) -> Sequence[object]:
        [options] = typed(tuple[dict[str, object]], call.body)
        wanted = parse_wanted(options)
        statuses = {one.device.id: one for one in self._checked(options)}
        checked = check(map(device_record, statuses.values()), wanted)
        findings = [
            FindingRecord(
                device_id=one.device_id,
                code=one.code.value,
                message=sentences.check_finding(
                    one.code, statuses[DeviceId(one.device_id)], wanted.limit_of(one.code)
                ),
            )
            for one in checked.findings
        ]
        return checked.ok, [names.device_path(one) for one in checked.names], list(map(variants_of, findings))

    def _checked(self, options: Mapping[str, object]) -> Iterable[DeviceStatus]:
        """The devices that a check is for: those named, or of a group, or else the expected ones; raises
        InvalidRequest, DeviceNotFound, GroupNotFound."""
        paths, group = options.get("devices"), text_option(options, "group")
        if paths is not None and group is not None:
            sentence = "Either devices or a group."
            raise InvalidRequest(f"group: {sentence}", {"group": (sentence,)})
        if group is not None:
            return map(self._hub.device_status, self._hub.groups.members(group))
        if paths is not None:
            return map(self._hub.device_status, map(_device_at, _paths(paths)))
        return (one for one in self._hub.device_statuses() if one.device.expected)

    async def _reload(self, call: MethodCall) -> Sequence[object]:
        del call
        await self._reload_configuration()
        return ()

    async def _get_history(self, call: MethodCall) -> Sequence[object]:
        wanted = parse_filter(*typed(tuple[dict[str, object]], call.body))
        rows = await self._history.read(wanted)
        return (pack_rows(row_of(history_record(one)) for one in rows),)

    async def _get_takes(self, call: MethodCall) -> Sequence[object]:
        wanted = parse_take_filter(*typed(tuple[dict[str, object]], call.body))
        takes = await self._history.takes.newest(wanted)
        return (pack_rows(row_of(take_record(one)) for one in takes),)

    async def _forget_history(self, call: MethodCall) -> Sequence[object]:
        self._history.forget(DeviceId(typed(tuple[int, dict[str, object]], call.body)[0]))
        return ()

    async def _diagnose(self, call: MethodCall) -> Sequence[object]:
        del call
        return (await self._make_report(),)


def _device_at(path: str) -> DeviceId:
    """The device with an object path; raises DeviceNotFound."""
    device = names.device_id_of(path)
    if device is None:
        raise DeviceNotFound(f"{path} is not a device")
    return DeviceId(device)


def _paths(value: object) -> Iterable[str]:
    """The object paths in an option; raises InvalidRequest."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        sentence = "A list of object paths."
        raise InvalidRequest(f"devices: {sentence}", {"devices": (sentence,)})
    return value


def _interface(call: MethodCall) -> str | None:
    [options] = typed(tuple[dict[str, object]], call.body)
    return text_option(options, "interface")


def _step(text: str) -> RecoveryStep | Literal[LinkStep.POWER_PORT]:
    """Raises InvalidRequest."""
    if text == LinkStep.POWER_PORT:
        return LinkStep.POWER_PORT
    try:
        return RecoveryStep(text)
    except ValueError:
        sentence = f"One of {', '.join((*RecoveryStep, LinkStep.POWER_PORT))}."
        raise InvalidRequest(f"step: {sentence}", {"step": (sentence,)}) from None


def _seconds(options: Mapping[str, object]) -> int:
    """How long a search lasts; raises InvalidRequest."""
    seconds = options.get("seconds", SEARCH_S)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 1 <= seconds <= LONGEST_SEARCH_S:
        sentence = f"A whole number from 1 to {LONGEST_SEARCH_S}."
        raise InvalidRequest(f"seconds: {sentence}", {"seconds": (sentence,)})
    return seconds
