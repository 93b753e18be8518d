"""wpa_supplicant, systemd and other programs on a message bus, as far as interfaces are registered."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

from tests.helper.fake_networkd import link_path
from wifimgrd.bus.connection import BusConnection, MethodCall, Variant
from wifimgrd.bus.names import PROPERTIES
from wifimgrd.bus.values import typed
from wifimgrd.proxies.networkd.definitions import NETWORK1, NETWORK1_LINK, SYSTEMD1, SYSTEMD1_UNIT
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS, WPAS_PATH


@dataclass
class Host:
    """wpa_supplicant, systemd and other programs on a message bus; the listener of `services`."""

    bus: str
    registered: set[str] = field(default_factory=set)
    """The interfaces that wpa_supplicant has."""
    network_file: str = ""
    """The file that networkd applies to every link, if it applies one."""
    active_units: dict[str, str] = field(default_factory=dict)
    """The sub states of those that are active, by name."""
    calls: list[str] = field(default_factory=list)
    """The methods that were called, in order."""
    programs: dict[str, BusConnection] = field(default_factory=dict)
    """By the bus name."""
    found: asyncio.Event = field(default_factory=asyncio.Event)
    changes: asyncio.Queue[None] = field(default_factory=asyncio.Queue)

    async def start(self, name: str) -> None:
        program = self.programs[name] = await BusConnection.open(self.bus)
        program.serve(self._reply)
        await program.request_name(name)

    async def end(self, name: str) -> None:
        await self.programs.pop(name).close()

    async def register(self, name: str) -> str:
        """Have wpa_supplicant register an interface, as the helper does it."""
        connection = await BusConnection.open(self.bus)
        try:
            arguments = {"Ifname": Variant("s", name)}
            [path] = await connection.call(WPAS, WPAS_PATH, WPAS, "CreateInterface", "a{sv}", [arguments])
        finally:
            await connection.close()
        return str(path)

    def _reply(self, call: MethodCall) -> None:
        self.calls.append(call.member)
        match call.member:
            case "GetInterface" if call.body[0] in self.registered:
                self.programs[WPAS].reply(call, "o", [self._path(call.body[0])])
            case "GetInterface":
                self.programs[WPAS].reply_error(call, f"{WPAS}.InterfaceUnknown", "there is none")
            case "CreateInterface":
                [arguments] = typed(tuple[dict[str, str]], call.body)
                name = arguments["Ifname"]
                self.registered.add(name)
                self.programs[WPAS].reply(call, "o", [self._path(name)])
            case "RemoveInterface":
                [path] = typed(tuple[str], call.body)
                self.registered.remove(path.rpartition("/")[2])
                self.programs[WPAS].reply(call)
            case "RemoveAllNetworks":
                self.programs[WPAS].reply(call)
            case "Get":
                self.programs[WPAS].reply_error(call, f"{WPAS}.InterfaceUnknown", "it has just gone")
            case "ListUnitsByNames":
                [wanted] = typed(tuple[list[str]], call.body)
                units = [self._listed(one) for one in wanted]
                self.programs[SYSTEMD1].reply(call, "a(ssssssouso)", [units])
            case "DescribeLink":
                described = {"NetworkFile": self.network_file} if self.network_file else {}
                self.programs[NETWORK1].reply(call, "s", [json.dumps(described)])
            case "Subscribe":
                self.programs[SYSTEMD1].reply(call)
            case _:
                raise AssertionError(call.member)

    def unregistered(self, name: str) -> None:
        """Have wpa_supplicant signal that it no longer has an interface."""
        self.registered.remove(name)
        self.programs[WPAS].emit(WPAS_PATH, WPAS, "InterfaceRemoved", "o", [self._path(name)])

    def unit_changes(self, unit: str, sub_state: str | None) -> None:
        """Have systemd signal that a unit has this sub state now; None where it is not active any more."""
        self.active_units.pop(unit, None)
        if sub_state is not None:
            self.active_units[unit] = sub_state
        self.programs[SYSTEMD1].emit(
            self._unit_path(unit), PROPERTIES, "PropertiesChanged", "sa{sv}as", [SYSTEMD1_UNIT, {}, []]
        )

    def link_changes(self, index: int, network_file: str) -> None:
        """Have networkd signal that it applies another file to a link."""
        self.network_file = network_file
        changed = [NETWORK1_LINK, {"AdministrativeState": Variant("s", "configured")}, []]
        path = link_path(index)
        self.programs[NETWORK1].emit(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", changed)

    def _listed(self, unit: str) -> list[object]:
        state = "active" if unit in self.active_units else "inactive"
        sub_state = self.active_units.get(unit, "dead")
        return [unit, "", "", state, sub_state, "", self._unit_path(unit), 0, "", "/"]

    @staticmethod
    def _unit_path(unit: str) -> str:
        return f"/org/freedesktop/systemd1/unit/{unit.translate({ord(sign): '_' for sign in '@.-'})}"

    @staticmethod
    def _path(name: str) -> str:
        return f"{WPAS_PATH}/Interfaces/{name}"

    async def supplicant_found(self) -> None:
        self.found.set()

    def supplicant_lost(self) -> None:
        self.found.clear()
        self.changes.put_nowait(None)

    def networkd_lost(self) -> None:
        """Its links are not of these tests."""

    def networkd_changed(self, index: int) -> None:
        """As `networkd_lost`."""

    def owners_changed(self) -> None:
        self.changes.put_nowait(None)
