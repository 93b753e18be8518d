"""The simulated world, the methods that change it while it runs, and how its cameras are reached."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from wifimgrd.backends.simulated import check
from wifimgrd.backends.simulated.adapters import SimulatedAdapters
from wifimgrd.backends.simulated.backend import SimulatedBackend
from wifimgrd.backends.simulated.camera import Camera
from wifimgrd.backends.simulated.check import Check, FieldError, Table
from wifimgrd.backends.simulated.faults import Faults, Scoped
from wifimgrd.backends.simulated.links import Links
from wifimgrd.backends.simulated.scenario import Scenario, load_scenario, read_camera
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.camera_model import KeepAlive, Probe
from wifimgrd.domain.device import DeviceId, Ssid
from wifimgrd.domain.errors import DeviceNotReachable, InvalidRequest
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.ports import Answer, BackendMemory

_T = TypeVar("_T")
_DEFAULT_SLOW_S: Final = 5.0
_PROBE_S: Final = 0.5
"""How long a probe waits for a camera that does not answer."""


class SimulatedSockets:
    """A CameraSockets that opens nothing: simulated cameras have no network, and their interfaces and
    addresses may exist on this host."""

    async def open(
        self, device_id: DeviceId, interface: str, address: str, port: int, kind: SocketKind
    ) -> socket.socket:
        """Raises DeviceNotReachable."""
        raise DeviceNotReachable(
            f"simulated cameras have no network: {kind.value} port {port} of device {device_id}, "
            f"{address} at {interface}"
        )


class SimulatedContact:
    """A CameraContact of a simulated world: its cameras answer, or they do not."""

    def __init__(self, links: Links, faults: Faults) -> None:
        self._links = links
        self._faults = faults

    async def probe(  # the arguments of the port
        self,
        device_id: DeviceId,  # noqa: ARG002
        interface: str,
        address: str,  # noqa: ARG002
        probe: Probe,  # noqa: ARG002
    ) -> Answer:
        """A camera answers at once, unless it is off or the fault `silent` is set for it."""
        camera = self._links.camera(interface)
        if camera is not None and camera.powered and not self._faults.silent.get(camera.plan.ssid.octets):
            return Answer.ANSWERED
        await asyncio.sleep(_PROBE_S)
        return Answer.SILENT

    async def keep_alive(
        self, device_id: DeviceId, interface: str, address: str, keep_alive: KeepAlive
    ) -> None:
        """Does nothing."""


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
        self._cameras = {ssid: Camera(plan) for ssid, plan in scenario.cameras.items()}
        self._faults = Faults()
        self._return: asyncio.TimerHandle | None = None
        self.adapters = SimulatedAdapters(scenario.adapters)
        self.backend = SimulatedBackend(
            self.adapters, self._cameras, self._faults, scenario.times, memory or BriefMemory()
        )
        self.sockets = SimulatedSockets()
        self.adapters.on_replug = self._replug
        self.contact = SimulatedContact(self.backend.joined, self._faults)
        self._kinds: Mapping[str, Callable[[Table], None]] = {
            "adapter-stuck": self._adapter_stuck,
            "backend-gone": self._backend_gone,
            "dhcp-dead": self._on_cameras(self._faults.dhcp_dead),
            "refuse-association": self._on_cameras(self._faults.refusing),
            "rfkill": self._rfkill,
            "scan-fails": self._scan_fails,
            "signal": self._signal,
            "silent": self._on_cameras(self._faults.silent),
            "slow-join": self._slow_join,
            "slow-leave": self._slow_leave,
        }

    def plug_adapter(self, name: str) -> None:
        """Plug an adapter in: a known one that was unplugged, or a new one for a new name. Of an adapter with
        several interfaces this makes one of them, and `unplug_adapter` removes one."""
        _checked("the adapter's name", check.interface_name, name)
        self.adapters.plug(name)
        self.backend.appeared(name)
        self.adapters.report(name)

    def unplug_adapter(self, name: str) -> None:
        """Unplug an adapter, which also heals it where it is stuck."""
        self._faults.stuck.pop(name, None)
        self.adapters.unplug(name)
        self.backend.vanished(name)

    def add_camera(self, ssid: bytes, password: str, options: Mapping[str, object]) -> None:
        """Add a camera; `options` are the keys of a scenario's `[[camera]]`."""
        network = _checked("ssid", check.ssid, ssid)
        try:
            passphrase = check.passphrase(password)
        except check.Invalid as invalid:
            raise InvalidRequest(f"password: expected {invalid}") from None
        if network.octets in self._cameras:
            raise InvalidRequest(f"there is a camera {network.printable} already")
        try:
            plan = read_camera(network, passphrase, Table(options))
        except FieldError as error:
            raise InvalidRequest(f"camera option {error}") from None
        self._cameras[network.octets] = Camera(plan)

    def power_on_camera(self, ssid: bytes) -> None:
        """Switch a camera on; does nothing if it is on."""
        camera = self._camera(ssid)
        if not camera.powered:
            camera.powered = True
            self.backend.joined.camera_on(camera)

    def power_off_camera(self, ssid: bytes, orderly: bool) -> None:
        """Switch a camera off (`orderly`), or cut its power; does nothing if it is off."""
        camera = self._camera(ssid)
        if camera.powered:
            camera.powered = False
            self.backend.joined.camera_off(camera, orderly=orderly)

    def set_fault(self, kind: str, options: Mapping[str, object]) -> None:
        """Set a fault, or lift it with the option `off`; the package's docstring lists them."""
        try:
            apply = self._kinds[kind]
        except KeyError:
            known = ", ".join(sorted(self._kinds))
            raise InvalidRequest(f"there is no fault {kind!r}; there are: {known}") from None
        try:
            apply(Table(options))
        except FieldError as error:
            raise InvalidRequest(f"{kind}: option {error}") from None

    def _camera(self, ssid: bytes) -> Camera:
        network = _checked("ssid", check.ssid, ssid)
        try:
            return self._cameras[network.octets]
        except KeyError:
            raise InvalidRequest(f"there is no camera {network.printable}") from None

    def _ssid_option(self, table: Table) -> bytes | None:
        ssid: Ssid | None = table.take("ssid", check.ssid, None)
        return None if ssid is None else self._camera(ssid.octets).plan.ssid.octets

    def _interface_option(self, table: Table) -> str | None:
        name = table.take("interface", check.interface_name, None)
        if name is not None:
            self.adapters.require(name)
        return name

    def _on_cameras(self, fault: Scoped[bytes, bool]) -> Callable[[Table], None]:
        def apply(table: Table) -> None:
            off, ssid = _off(table), self._ssid_option(table)
            table.finish()
            if off:
                fault.clear(ssid)
            else:
                fault.set(ssid, value=True)

        return apply

    def _slow_join(self, table: Table) -> None:
        off, ssid = _off(table), self._ssid_option(table)
        seconds = table.take("seconds", check.seconds, _DEFAULT_SLOW_S)
        table.finish()
        if off:
            self._faults.join_s.clear(ssid)
        else:
            self._faults.join_s.set(ssid, seconds)

    def _slow_leave(self, table: Table) -> None:
        off, interface = _off(table), self._interface_option(table)
        seconds = table.take("seconds", check.seconds, _DEFAULT_SLOW_S)
        table.finish()
        if off:
            self._faults.leave_s.clear(interface)
        else:
            self._faults.leave_s.set(interface, seconds)

    def _scan_fails(self, table: Table) -> None:
        off, interface = _off(table), self._interface_option(table)
        table.finish()
        if off:
            self._faults.scan_fails.clear(interface)
        else:
            self._faults.scan_fails.set(interface, value=True)

    def _adapter_stuck(self, table: Table) -> None:
        off, name = _off(table), table.need("interface", check.interface_name)
        heals = table.take("heals", check.one_of(RecoveryStep), RecoveryStep.RESTART)
        crashed = table.take("crashed", check.flag, default=False)
        table.finish()
        self.adapters.require(name)
        if off:
            self._faults.stuck.pop(name, None)
        else:
            self._faults.stuck[name] = RecoveryStep(heals)
            if crashed:
                self.adapters.firmware_failed(name)

    def _replug(self, name: str) -> None:
        interfaces = self.adapters.of_usb_device(name)
        stuck = {one: self._faults.stuck.get(one) for one in interfaces}
        for one in interfaces:
            self.unplug_adapter(one)
        for one, healed_by in stuck.items():
            if healed_by not in (None, RecoveryStep.REPLUG):
                self._faults.stuck[one] = healed_by
            self.plug_adapter(one)

    def _signal(self, table: Table) -> None:
        off, camera = _off(table), self._camera(table.need("ssid", check.ssid).octets)
        percent = check.whole(0, 100)
        usual = camera.plan.signal_percent
        wanted = table.take("percent", percent, usual) if off else table.need("percent", percent)
        table.finish()
        camera.signal_percent = usual if off else wanted
        if camera.powered:
            self.backend.joined.refresh(camera)

    def _rfkill(self, table: Table) -> None:
        off, name = _off(table), table.need("interface", check.interface_name)
        hard = table.take("hard", check.flag, default=False)
        table.finish()
        self.adapters.require(name)
        rfkill = "" if off else "hard-blocked" if hard else "soft-blocked"
        for one in self.adapters.of_radio(name):
            self.adapters.block(one, rfkill)
            if rfkill:
                self.backend.blocked(one, rfkill)

    def _backend_gone(self, table: Table) -> None:
        off, seconds = _off(table), table.take("seconds", check.seconds, None)
        table.finish()
        if self._return is not None:
            self._return.cancel()
            self._return = None
        if off:
            self.backend.come()
            return
        if seconds is not None:
            self._return = asyncio.get_running_loop().call_later(seconds, self.backend.come)
        self.backend.go()


def _off(table: Table) -> bool:
    return table.take("off", check.flag, default=False)


def _checked(what: str, check_value: Check[_T], value: object) -> _T:
    try:
        return check_value(value)
    except check.Invalid as invalid:
        raise InvalidRequest(f"{what}: expected {invalid}") from None
