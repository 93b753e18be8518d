"""`Recover` of a device, and the counts of the steps that were taken."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final, cast
from unittest.mock import AsyncMock

import pytest

from wifimgrd.bus.connection import BusConnection, BusError, Variant
from wifimgrd.daemon.api import _device_object
from wifimgrd.daemon.api._authorization import Authorization
from wifimgrd.daemon.api._device_object import CommandsObject
from wifimgrd.daemon.api._manager_object import ManagerObject
from wifimgrd.daemon.api._object_server import ObjectServer
from wifimgrd.daemon.api.hub_service import HubService
from wifimgrd.daemon.manager.history import History
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.domain.commands import RECOVER
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import CameraBusy, InvalidRequest, NotConnected, WifimgrdError
from wifimgrd.domain.events import AdapterRecovery, LinkStepEnded, LinkStepStarted
from wifimgrd.domain.link_steps import LinkStep, StepResult
from wifimgrd.domain.power import BluetoothState
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.domain.recovery import RECOVERY_STEPS, RecoveryStep
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import names

PATH: Final = names.device_path(1)


class Recovered:
    """A hub that takes steps, or refuses them."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, dict[str, Any]]] = []
        self.error: WifimgrdError | None = None
        self.device_commands = {RECOVER.name: self.recover}

    async def recover(self, device: int, **options: Any) -> None:
        self.asked.append((device, options))
        if self.error is not None:
            raise self.error


@pytest.fixture
def recovered() -> Recovered:
    return Recovered()


@pytest.fixture
def served(service: BusConnection, recovered: Recovered) -> str:
    """The unique name at which a device is served."""
    record = DeviceRecord(1, "Front", state="connected", recovery_step="rejoin")
    device = CommandsObject(cast("Hub", recovered), record, "Device")
    device.actions = {}
    tasks = Tasks("test")
    ObjectServer(service, {PATH: {names.DEVICE: device}}, Authorization(service, tasks), tasks).open()
    return service.unique_name


@pytest.mark.parametrize(
    ("options", "passed_on"),
    [
        ({}, {"wait": False, "step": None}),
        ({"step": Variant("s", "reboot-camera")}, {"wait": False, "step": "reboot-camera"}),
        ({"wait": Variant("b", True), "more": Variant("u", 1)}, {"wait": True, "step": None}),
    ],
)
async def test_its_options_are_passed_on(
    served: str,
    caller: BusConnection,
    recovered: Recovered,
    options: dict[str, Variant],
    passed_on: dict[str, Any],
) -> None:
    await caller.call(served, PATH, names.DEVICE, "Recover", "a{sv}", [options])
    assert recovered.asked == [(1, passed_on)]


async def test_a_step_is_a_text(served: str, caller: BusConnection, recovered: Recovered) -> None:
    with pytest.raises(BusError) as caught:
        await caller.call(served, PATH, names.DEVICE, "Recover", "a{sv}", [{"step": Variant("u", 1)}])
    assert caught.value.name == "org.wifimgrd1.Error.InvalidArguments"
    assert recovered.asked == []


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (NotConnected("it is not connected"), "NotConnected"),
        (CameraBusy("it records"), "CameraBusy"),
        (InvalidRequest("the port is not named"), "InvalidArguments"),
    ],
)
async def test_its_errors(
    served: str, caller: BusConnection, recovered: Recovered, error: WifimgrdError, name: str
) -> None:
    recovered.error = error
    with pytest.raises(BusError) as caught:
        await caller.call(served, PATH, names.DEVICE, "Recover", "a{sv}", [{}])
    assert caught.value.name == f"org.wifimgrd1.Error.{name}"


async def test_the_step_that_runs_is_a_property(served: str, caller: BusConnection) -> None:
    assert await caller.get(served, PATH, names.DEVICE, "RecoveryStep") == "rejoin"


def test_it_needs_the_right_to_manage_devices() -> None:
    assert _device_object.ACTIONS["Recover"] == names.MANAGE_DEVICES


def test_the_steps_of_cameras_and_of_adapters_are_counted() -> None:
    hub = SimpleNamespace(
        backend_name="simulated",
        backend_choice="",
        backend_status=SimpleNamespace(state=SimpleNamespace(value="ready"), reason=""),
        bluetooth=SimpleNamespace(status=SimpleNamespace(state=BluetoothState.OFF, reason="")),
        absent_adapters=(),
        groups=SimpleNamespace(all={}, missing={}),
        unmatched_reservations=(),
    )
    connection = SimpleNamespace(emit=lambda *_: None, serve=lambda *_, **__: None)
    service = HubService(cast("BusConnection", connection), Tasks("test"))
    service._hub = cast("Hub", hub)
    service._manager = ManagerObject(
        service._hub, lambda _: False, AsyncMock(), AsyncMock(), cast("History", None)
    )
    assert service._manager.record.recoveries == dict.fromkeys(RECOVERY_STEPS, 0)
    device = DeviceId(1)
    service.publish(LinkStepStarted(device, "wlan0", LinkStep.REJOIN, "It does not answer."))
    service.publish(LinkStepEnded(device, LinkStep.REJOIN, StepResult.DID_NOT))
    service.publish(AdapterRecovery("wlan0", LinkStep.RESET_PORT))
    service.publish(AdapterRecovery("wlan0", RecoveryStep.RESCAN))
    counted = {step: number for step, number in service._manager.record.recoveries.items() if number}
    assert counted == {"rejoin": 1, "reset-port": 1, "rescan": 1}
