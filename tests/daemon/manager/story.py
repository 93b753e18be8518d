"""A client's view of the hub, built from its events alone; refuses inconsistent events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from wifimgrd.domain.device import DeviceId, DeviceState, DeviceStatus
from wifimgrd.domain.events import (
    AbsentAdaptersChanged,
    AdapterRecovery,
    BackendChanged,
    CameraChanged,
    ConnectionFailed,
    DeviceCreated,
    DeviceRemoved,
    DeviceStateChanged,
    DeviceUpdated,
    Event,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    LinkStepEnded,
    LinkStepStarted,
    PowerChanged,
    SignalChanged,
)
from wifimgrd.domain.interface import InterfaceState, InterfaceStatus
from wifimgrd.domain.link_steps import PORT_STEPS, LinkStep
from wifimgrd.domain.reservation import AbsentAdapter

_T = TypeVar("_T")

NEXT = {
    DeviceState.DISCONNECTED: {DeviceState.DISCONNECTED, DeviceState.CONNECTING, DeviceState.CONNECTED},
    DeviceState.CONNECTING: {DeviceState.CONNECTED, DeviceState.DISCONNECTED, DeviceState.DISCONNECTING},
    DeviceState.CONNECTED: {DeviceState.CONNECTING, DeviceState.DISCONNECTED, DeviceState.DISCONNECTING},
    DeviceState.DISCONNECTING: {DeviceState.DISCONNECTED},
}


@dataclass
class Story:
    """An EventSink that keeps both the events and the state that follows from them."""

    reported: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    devices: dict[DeviceId, DeviceStatus] = field(default_factory=dict)
    interfaces: dict[str, InterfaceStatus] = field(default_factory=dict)
    absent: tuple[AbsentAdapter, ...] = ()
    failing: DeviceId | None = None
    steps: dict[DeviceId, LinkStep] = field(default_factory=dict)
    """The recovery steps that run for cameras."""

    def publish(self, event: Event) -> None:
        self.events.append(event)
        if self.failing is not None:
            assert isinstance(event, DeviceStateChanged), "a failure is followed by the state at once"
            assert event.status.device.id == self.failing
            assert event.status.state is DeviceState.DISCONNECTED
            self.failing = None
        match event:
            case DeviceCreated(status):
                assert status.device.id not in self.devices
                self.take(status)
                self.reported.append(f"{status.device.id} created")
            case DeviceUpdated(status):
                self.take(status)
                self.reported.append(f"{status.device.id} updated")
            case PowerChanged(status) | CameraChanged(status):
                self.take(status)
            case SignalChanged(status):
                assert status.state is DeviceState.CONNECTED
                self.take(status)
            case DeviceStateChanged(status):
                before = self.devices[status.device.id].state
                assert status.state in NEXT[before], f"{before} -> {status.state}"
                self.take(status)
                self.reported.append(f"{status.device.id} {status.state}")
            case ConnectionFailed(device, failure):
                self.failing = device
                self.reported.append(f"{device} failed {failure.code}")
            case DeviceRemoved(device):
                assert self.devices.pop(device).state is DeviceState.DISCONNECTED
                self.reported.append(f"{device} removed")
            case InterfaceAdded(interface):
                assert interface.interface.name not in self.interfaces
                self.interfaces[interface.interface.name] = interface
                self.reported.append(f"{interface.interface.name} added")
            case InterfaceChanged(interface):
                assert interface.interface.name in self.interfaces
                self.interfaces[interface.interface.name] = interface
                self.reported.append(f"{interface.interface.name} {interface.state}")
            case InterfaceRemoved(name):
                del self.interfaces[name]
                self.reported.append(f"{name} removed")
            case AdapterRecovery(name, step):
                assert self.interfaces[name].device_id is None, "an adapter in use is never touched"
                self.reported.append(f"{name} recovery {step}")
            case LinkStepStarted(device, interface, link_step):
                assert self.devices[device].state is DeviceState.CONNECTED, "a step is for a link that is up"
                assert self.devices[device].interface == interface
                self.steps[device] = link_step
                self.reported.append(f"{device} recovery {link_step}")
            case LinkStepEnded(device, link_step, result):
                assert self.steps.pop(device) is link_step, "each step has one end"
                self.reported.append(f"{device} recovery {result}")
            case AbsentAdaptersChanged(adapters):
                self.absent = adapters
            case BackendChanged(backend):
                self.reported.append(f"backend {backend.state}")

    def take(self, status: DeviceStatus) -> None:
        """The interface's event came before the device's: a client never sees the one without the other."""
        self.devices[status.device.id] = status
        if status.state is DeviceState.DISCONNECTED:
            assert status.interface is None
            assert status.recovery_step is None
        elif status.interface is None and status.state is DeviceState.CONNECTING:
            assert status.recovery_step in PORT_STEPS, "such a step has taken it, to reset its USB port"
        assert (status.link is not None) == (status.state is DeviceState.CONNECTED)
        if status.interface is None:
            assert status.device.id not in [one.device_id for one in self.interfaces.values()]
        else:
            assert self.interfaces[status.interface].device_id == status.device.id

    def rests(self) -> None:
        """No recovery step runs."""
        assert self.steps == {}
        assert all(status.recovery_step is None for status in self.devices.values())

    def agrees(self) -> None:
        """In use if and only if assigned, one to one."""
        held = {name: one.device_id for name, one in self.interfaces.items() if one.device_id is not None}
        assert held == {
            status.interface: device for device, status in self.devices.items() if status.interface
        }
        for interface in self.interfaces.values():
            assert (interface.state is InterfaceState.IN_USE) == (interface.device_id is not None)
            assert bool(interface.reason) == (interface.state is InterfaceState.UNAVAILABLE)

    def forget(self) -> None:
        """Begin a new chapter."""
        self.reported.clear()
        self.events.clear()

    def of(self, kind: type[_T]) -> list[_T]:
        """The events of a kind in this chapter."""
        return [event for event in self.events if isinstance(event, kind)]
