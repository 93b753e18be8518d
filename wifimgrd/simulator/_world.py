"""The simulated world, the methods that change it while it runs, and how its cameras are reached."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from wifimgrd.config.toml_tables import build
from wifimgrd.daemon.ports import BackendMemory
from wifimgrd.domain.checks import Invalid
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.simulator._adapters import SimulatedAdapters
from wifimgrd.simulator._backend import SimulatedBackend
from wifimgrd.simulator._bluetooth import SimulatedBluetooth
from wifimgrd.simulator._camera import Camera
from wifimgrd.simulator._camera_faults import EmulatedFaults
from wifimgrd.simulator._dead_links import DeadLinkFaults, SimulatedEvidence
from wifimgrd.simulator._fault_options import (
    AdapterStuck,
    BackendGone,
    BluetoothOff,
    CameraFault,
    InterfaceFault,
    RadioTrouble,
    Rfkill,
    Signal,
    SlowJoin,
    SlowLeave,
)
from wifimgrd.simulator._faults import Faults, K, Scoped, V
from wifimgrd.simulator._scenario import (
    AdapterTable,
    CameraPlan,
    CameraTable,
    Scenario,
    load_scenario,
    ssid_of,
)
from wifimgrd.simulator._sockets import SimulatedContact, SimulatedSockets
from wifimgrd.simulator.emulators import EmulatedCamera

_T = TypeVar("_T")


class BriefMemory:
    """A backend memory that is not stored on disk."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def recall(self, key: str) -> str | None:
        """The value that is stored under `key`, or None."""
        return self._values.get(key)

    def note(self, key: str, value: str | None) -> None:
        """Store `value` under `key`; None deletes it."""
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value


class SimulatedWorld:
    """Adapters and cameras in memory.

    `backend`, `adapters` and `sockets` are the views that the manager uses. The other methods change
    the world; each raises InvalidRequest where that is not possible.
    """

    def __init__(self, scenario: Scenario | None = None, memory: BackendMemory | None = None) -> None:
        """`memory` stores links across a restart of the daemon."""
        scenario = scenario or load_scenario()
        self._cameras = {ssid: self._made(plan) for ssid, plan in scenario.cameras.items()}
        self._faults = Faults()
        self._return: asyncio.TimerHandle | None = None
        self.adapters = SimulatedAdapters(scenario.adapters)
        self.backend = SimulatedBackend(
            self.adapters, self._cameras, self._faults, scenario.times, memory or BriefMemory()
        )
        self.bluetooth = SimulatedBluetooth(
            self._cameras, self._faults, scenario.times, memory or BriefMemory()
        )
        self.bluetooth.on_wake = self._wake
        self.bluetooth.on_sleep = self._put_to_sleep
        self.bluetooth.on_connect = self._boot
        self.bluetooth.on_wifi_off = self._switch_wifi_off
        self.bluetooth.on_reboot = self._reboot
        self._reboot_s = scenario.times.reboot_s
        self._reboots: dict[bytes, asyncio.TimerHandle] = {}
        """The ends of the reboots of cameras, by their networks."""
        self.sockets = SimulatedSockets(self.backend.joined, self._faults)
        self.backend.joined.on_cut = self._cut
        self.adapters.on_replug = partial(self._replug, step=LinkStep.RESET_PORT)
        self.adapters.on_power = self._power
        self.evidence = SimulatedEvidence(self.backend.joined, self._faults)
        self.contact = SimulatedContact(self.backend.joined, self._faults)
        self._kinds: Mapping[str, tuple[type, Callable[[Any], None]]] = {
            "adapter-stuck": (AdapterStuck, self._adapter_stuck),
            "backend-gone": (BackendGone, self._backend_gone),
            "bluetooth-off": (BluetoothOff, self._bluetooth_off),
            "bond-lost": (CameraFault, self._on_cameras(self._faults.bond_lost)),
            "dhcp-dead": (CameraFault, self._on_cameras(self._faults.dhcp_dead)),
            "out-of-range": (CameraFault, self._out_of_range),
            "radio-trouble": (RadioTrouble, self._radio_trouble),
            "refuse-association": (CameraFault, self._on_cameras(self._faults.refusing)),
            "rfkill": (Rfkill, self._rfkill),
            "scan-fails": (InterfaceFault, self._scan_fails),
            "signal": (Signal, self._signal),
            "silent": (CameraFault, self._silent),
            "slow-join": (SlowJoin, self._slow_join),
            "slow-leave": (SlowLeave, self._slow_leave),
            "wifi-off": (CameraFault, self._wifi_off),
            "no-power-switching": (InterfaceFault, self._no_power_switching),
            **DeadLinkFaults(self._affected, self.adapters.require, self._faults, self.sockets).kinds,
            **EmulatedFaults(self._emulated).kinds,
        }
        """The options of each kind of fault, and what sets it."""

    def plug_adapter(self, name: str) -> None:
        """Plug an adapter in: a known one that was unplugged, or a new one for a new name. Of an adapter with
        several interfaces this makes one of them, and `unplug_adapter` removes one."""
        _checked("", AdapterTable, {"name": name})
        self.adapters.plug(name)
        self.backend.appeared(name)
        self.adapters.report(name)

    def unplug_adapter(self, name: str) -> None:
        """Unplug an adapter, which also heals it where it is stuck or its firmware is dead."""
        self._unplug(name)
        self._faults.unplugged(name)

    def _unplug(self, name: str) -> None:
        self.adapters.unplug(name)
        self.backend.vanished(name)

    def add_camera(self, ssid: bytes, password: str, options: Mapping[str, object]) -> None:
        """Add a camera; `options` are the keys of a scenario's `[[camera]]`."""
        plan = _checked("camera ", CameraTable, {**options, "ssid": ssid, "password": password}).plan
        if plan.ssid.data in self._cameras:
            raise InvalidRequest(f"there is a camera {plan.ssid.printable} already")
        self._cameras[plan.ssid.data] = self._made(plan)

    def _made(self, plan: CameraPlan) -> Camera:
        camera = Camera(plan)
        if camera.emulated is not None:
            camera.emulated.on_sleep = partial(self._fall_asleep, camera)
            camera.emulated.on_reboot = partial(self._reboot, camera)
        return camera

    def _fall_asleep(self, camera: Camera) -> None:
        """A client has put it to sleep, over the network: it answers that first."""
        put = self._power_off if camera.plan.bluetooth is None else self._put_to_sleep
        asyncio.get_running_loop().call_soon(put, camera)

    def camera(self, ssid: str | bytes) -> Camera:
        """The camera of a network."""
        network = ssid_of(ssid)
        try:
            return self._cameras[network.data]
        except KeyError:
            raise InvalidRequest(f"there is no camera {network.printable}") from None

    def power_on_camera(self, ssid: bytes) -> None:
        """Switch a camera on; does nothing if it is on."""
        self._wake(self.camera(ssid))

    def _wake(self, camera: Camera) -> None:
        self._end_reboot(camera)
        with self._changing(camera):
            camera.asleep, camera.is_on, camera.is_wifi_off = False, True, False

    def _boot(self, camera: Camera) -> None:
        """A connection over Bluetooth wakes a camera that sleeps, and not its Wi-Fi."""
        if camera.asleep:
            camera.asleep, camera.is_on, camera.is_wifi_off = False, True, True

    def _put_to_sleep(self, camera: Camera) -> None:
        self._end_reboot(camera)
        with self._changing(camera):
            camera.asleep, camera.is_on = True, False

    def _switch_wifi_off(self, camera: Camera) -> None:
        with self._changing(camera):
            camera.is_wifi_off = True
        self._faults.camera_stepped(camera.plan.ssid.data, LinkStep.CAMERA_ACCESS_POINT)

    def _reboot(self, camera: Camera) -> None:
        self._power_off(camera)
        wake = partial(self._wake, camera)
        self._reboots[camera.plan.ssid.data] = asyncio.get_running_loop().call_later(self._reboot_s, wake)

    def _end_reboot(self, camera: Camera) -> None:
        """It is switched by something else, or has rebooted."""
        if (timer := self._reboots.pop(camera.plan.ssid.data, None)) is not None:
            timer.cancel()

    @contextmanager
    def _changing(self, camera: Camera, *, orderly: bool = True) -> Iterator[None]:
        """Whether a camera's network is on the air may change."""
        before = camera.powered
        yield
        if not camera.is_on:
            self._faults.camera_stepped(camera.plan.ssid.data, LinkStep.REBOOT_CAMERA)
            if camera.emulated is not None:
                camera.emulated.switch_off()
        if camera.powered and not before:
            self.backend.joined.camera_on(camera)
        elif before and not camera.powered:
            self.sockets.silence()
            self.backend.joined.camera_off(camera, orderly=orderly)

    def sleep_camera(self, ssid: bytes) -> None:
        """Let a camera go to sleep by itself; raises InvalidRequest if it has no Bluetooth."""
        camera = self.camera(ssid)
        if camera.plan.bluetooth is None:
            raise InvalidRequest(f"the camera {camera.label} does not sleep")
        self._put_to_sleep(camera)

    def power_off_camera(self, ssid: bytes, orderly: bool) -> None:
        """Switch a camera off (`orderly`), or cut its power; does nothing if it is off."""
        self._power_off(self.camera(ssid), orderly=orderly)

    def _power_off(self, camera: Camera, *, orderly: bool = True) -> None:
        self._end_reboot(camera)
        with self._changing(camera, orderly=orderly):
            camera.asleep = camera.is_on = False

    def set_fault(self, kind: str, options: Mapping[str, object]) -> None:
        """Set a fault, or lift it with the option `off`; the package's docstring lists them."""
        try:
            options_class, apply = self._kinds[kind]
        except KeyError:
            known = ", ".join(sorted(self._kinds))
            raise InvalidRequest(f"there is no fault {kind!r}; there are: {known}") from None
        apply(_checked(f"{kind}: ", options_class, options))

    def _camera_key(self, fault: CameraFault) -> bytes | None:
        return None if fault.ssid is None else self.camera(fault.ssid).plan.ssid.data

    def _affected(self, fault: CameraFault) -> list[Camera]:
        """The cameras that a fault is about."""
        return list(self._cameras.values()) if fault.ssid is None else [self.camera(fault.ssid)]

    def _emulated(self, fault: CameraFault) -> Iterable[EmulatedCamera]:
        """The cameras with a driver that a fault is about."""
        if fault.ssid is None:
            return [one.emulated for one in self._cameras.values() if one.emulated is not None]
        camera = self.camera(fault.ssid)
        if camera.emulated is None:
            raise InvalidRequest(f"the camera {camera.label} has no driver")
        return [camera.emulated]

    def _interface_key(self, fault: InterfaceFault) -> str | None:
        if fault.interface is not None:
            self.adapters.require(fault.interface)
        return fault.interface

    def _on_cameras(self, scoped: Scoped[bytes, bool]) -> Callable[[CameraFault], None]:
        return lambda fault: _set(scoped, self._camera_key(fault), None if fault.off else True)

    def _silent(self, fault: CameraFault) -> None:
        _set(self._faults.silent, self._camera_key(fault), None if fault.off else True)
        self.sockets.silence()

    def _cut(self, interface: str) -> None:
        self.sockets.close(interface)
        self._faults.link_ended(interface)

    def _no_power_switching(self, fault: InterfaceFault) -> None:
        _set(self._faults.unswitched, self._interface_key(fault), None if fault.off else True)

    def _slow_join(self, fault: SlowJoin) -> None:
        _set(self._faults.join_s, self._camera_key(fault), None if fault.off else fault.seconds)

    def _slow_leave(self, fault: SlowLeave) -> None:
        _set(self._faults.leave_s, self._interface_key(fault), None if fault.off else fault.seconds)

    def _scan_fails(self, fault: InterfaceFault) -> None:
        _set(self._faults.scan_fails, self._interface_key(fault), None if fault.off else True)

    def _adapter_stuck(self, fault: AdapterStuck) -> None:
        self.adapters.require(fault.interface)
        if fault.off:
            self._faults.stuck.pop(fault.interface, None)
        else:
            self._faults.stuck[fault.interface] = fault.heals
            if fault.crashed:
                self.adapters.firmware_failed(fault.interface)

    def _replug(self, name: str, step: LinkStep) -> None:
        interfaces = self.adapters.of_usb_device(name)
        for one in interfaces:
            self._unplug(one)
            self._faults.port_stepped(one, step)
        for one in interfaces:
            self.plug_adapter(one)

    def _power(self, name: str) -> None:
        """Switch the power of its port off and on; where the hub cannot do that, its device is lost."""
        if not self._faults.unswitched.get(name):
            self._replug(name, LinkStep.POWER_PORT)
            return
        for one in self.adapters.of_usb_device(name):
            self.unplug_adapter(one)

    def _signal(self, fault: Signal) -> None:
        camera = self.camera(fault.ssid)
        percent = camera.plan.signal_percent if fault.off else fault.percent
        if percent is None:
            raise InvalidRequest("signal: expected the key percent")
        camera.signal_percent = percent
        if camera.powered:
            self.backend.joined.refresh(camera)

    def _rfkill(self, fault: Rfkill) -> None:
        self.adapters.require(fault.interface)
        rfkill = "" if fault.off else "hard-blocked" if fault.hard else "soft-blocked"
        for one in self.adapters.of_radio(fault.interface):
            self.adapters.block(one, rfkill)
            if rfkill:
                self.backend.blocked(one, rfkill)

    def _bluetooth_off(self, fault: BluetoothOff) -> None:
        self.bluetooth.switch(is_off=not fault.off)

    def _out_of_range(self, fault: CameraFault) -> None:
        """Its network is not received, either; a link of it is lost as by a power cut."""
        for camera in self._affected(fault):
            with self._changing(camera, orderly=False):
                camera.is_out_of_range = not fault.off

    def _radio_trouble(self, fault: RadioTrouble) -> None:
        number = math.inf if fault.connections is None else fault.connections
        for camera in self._affected(fault):
            camera.failing_connections = 0 if fault.off else number

    def _wifi_off(self, fault: CameraFault) -> None:
        for camera in self._affected(fault):
            with self._changing(camera):
                camera.is_wifi_off = not fault.off

    def _backend_gone(self, fault: BackendGone) -> None:
        if self._return is not None:
            self._return.cancel()
            self._return = None
        if fault.off:
            self.backend.come()
            return
        if fault.seconds is not None:
            self._return = asyncio.get_running_loop().call_later(fault.seconds, self.backend.come)
        self.backend.go()


def _set(scoped: Scoped[K, V], key: K | None, value: V | None) -> None:
    if value is None:
        scoped.clear(key)
    else:
        scoped.set(key, value)


def _checked(what: str, table_class: type[_T], values: Mapping[str, object]) -> _T:
    try:
        return build(table_class, values)
    except Invalid as invalid:
        raise InvalidRequest(f"{what}{invalid}") from None
