"""`org.wifimgrd1.Simulator`: the simulated world, which can be changed while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from wifimgrd.bus.connection import MethodCall
from wifimgrd.daemon.api._objects import ExportedInterface
from wifimgrd.wire import names


class World(Protocol):
    """The operations on the simulated world; each raises InvalidRequest."""

    def plug_adapter(self, name: str) -> None:
        """Plug an adapter in."""

    def unplug_adapter(self, name: str) -> None:
        """Unplug an adapter."""

    def add_camera(self, ssid: bytes, password: str, options: Mapping[str, object]) -> None:
        """Add a camera to the simulated world."""

    def power_on_camera(self, ssid: bytes) -> None:
        """Switch a camera on."""

    def power_off_camera(self, ssid: bytes, orderly: bool) -> None:
        """Switch a camera off."""

    def sleep_camera(self, ssid: bytes) -> None:
        """Let a camera go to sleep by itself."""

    def set_fault(self, kind: str, options: Mapping[str, object]) -> None:
        """Start or end a fault."""


class SimulatorObject(ExportedInterface):
    """The simulated world on the bus."""

    def __init__(self, world: World) -> None:
        super().__init__(names.SIMULATOR_PATH, names.SIMULATOR, {})
        self._actions: Mapping[str, Callable[..., None]] = {
            "PlugAdapter": world.plug_adapter,
            "UnplugAdapter": world.unplug_adapter,
            "AddCamera": world.add_camera,
            "PowerOnCamera": world.power_on_camera,
            "PowerOffCamera": world.power_off_camera,
            "SleepCamera": world.sleep_camera,
            "SetFault": world.set_fault,
        }
        self.methods = dict.fromkeys(self._actions, self._act)
        self.actions = dict.fromkeys(self._actions, names.MANAGE_DEVICES)

    async def _act(self, call: MethodCall) -> Sequence[object]:
        self._actions[call.member](*call.body)
        return ()
