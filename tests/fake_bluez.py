"""bluetoothd on a message bus, with cameras in range, for tests without a radio.

What it answers, and in which order, was recorded from BlueZ 5.66 and 5.82 with emulated cameras; its 40 s of
waiting for a camera are `ABSENT_S` here. Each fault is a field of a camera, or a method.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, BusError, MethodCall, Variant
from wifimgrd.proxies.bluez import definitions as bluez
from wifimgrd.simulator.emulators import GoProBluetooth

ABSENT_S = 1.5
"""How long Connect waits for a camera."""
ADAPTER = "00:1A:7D:DA:71:10"
ADAPTER_PATH = "/org/bluez/hci0"
OTHER_ADAPTER = "00:1A:7D:DA:71:11"
OTHER_PATH = "/org/bluez/hci1"


def assigned(number: int) -> str:
    """The UUID of a service or characteristic with a number of 16 bits."""
    return f"0000{number:04x}-0000-1000-8000-00805f9b34fb"


FEA6 = assigned(0xFEA6)
KEYBOARD = assigned(0x1812)
_FAILED = "org.bluez.Error.Failed"
_ABORTED = "le-connection-abort-by-local"
_UNKNOWN_OBJECT = "org.freedesktop.DBus.Error.UnknownObject"


def gp(number: int) -> str:
    return f"b5f9{number:04x}-aa8d-11e3-9046-0002a5d5c51b"


@dataclass(eq=False)
class FakeCamera:
    """A device in range: what it advertises, its bond, and what is wrong with it."""

    address: str
    name: str = "GoPro 1001"
    services: tuple[str, ...] = (FEA6,)
    manufacturer: Mapping[int, bytes] = field(default_factory=dict)
    service_data: Mapping[str, bytes] = field(default_factory=dict)
    in_range: bool = True
    bonded: bool = False
    """The host has a bond."""
    knows_host: bool = False
    """The camera has one."""
    pairing_mode: bool = True
    refuses_pairing: bool = False
    pair_unanswered: bool = False
    """Pair succeeds, and is not answered."""
    ignores_pair: bool = False
    connected_unsignalled: bool = False
    """As of BlueZ 5.82, sometimes."""
    never_resolves: bool = False
    """It is connected, and does not say what it offers."""
    late_characteristics_s: float = 0.0
    """After each connection; without it BlueZ keeps those of a bonded camera."""
    io_errors: int = 0
    """Connects that fail while the kernel ends the last link."""
    failing_connects: int = 0
    """The next Connects that fail at once, with `failure`."""
    failure: tuple[str, str] = (_FAILED, _ABORTED)
    """The name and the text of that error: by itself, what is said of first packets that are lost."""
    tells_reason: bool = False
    """BlueZ says why a link has ended, as newer versions do."""
    connected: bool = False
    resolved: bool = False
    known: bool = False
    """BlueZ has an object for it."""
    further: tuple[str, ...] = ()
    """Services that it has, too, and does not advertise."""
    explored: bool = False
    """BlueZ has seen which services it has."""
    hangs: bool = False
    """It does not answer reads and writes, and the link stays up."""
    loses_link_at: str = ""
    """`read` or `write`."""
    losses: int = 99
    """How often it does."""
    connects: int = 0
    pairs: int = 0
    """How often it was to be paired."""
    notifying: set[str] = field(default_factory=set)
    adapter: str = ADAPTER_PATH
    """The object path of the adapter that has it."""

    @property
    def path(self) -> str:
        return f"{self.adapter}/dev_{self.address.replace(':', '_')}"

    @property
    def has_kept_characteristics(self) -> bool:
        """Whether BlueZ has objects for them before it connects."""
        return (self.bonded or self.resolved) and not self.late_characteristics_s

    @property
    def characteristics(self) -> Mapping[str, str]:
        """UUID by object path."""
        return {f"{self.path}/service0001/char{n:04x}": uuid for n, uuid in enumerate(self.uuids())}

    def uuids(self) -> tuple[str, ...]:
        return ()

    def gatt(self) -> tuple[str, ...]:
        """The services of its characteristics."""
        return ()

    @property
    def seen_services(self) -> list[str]:
        """Those that BlueZ tells: of a device that it has not connected with, those that are advertised."""
        return sorted({*self.services, *((*self.gatt(), *self.further) if self.explored else ())})

    def read(self, uuid: str) -> bytes:
        raise BusError(_FAILED, "Operation failed with ATT error: 0x02")

    def write(self, uuid: str, value: bytes) -> list[tuple[str, bytes]]:
        """What it notifies of afterwards: characteristic and value."""
        raise BusError(_FAILED, "Operation failed with ATT error: 0x03")


@dataclass(eq=False)
class FakeGoPro(FakeCamera):
    """As Open GoPro describes it."""

    ssid: bytes = b"GP1001"
    password: bytes = b"dive-1234"
    busy_answers: int = 0
    """Commands that it refuses while it boots."""
    access_point: bool = False
    access_point_stays_off: bool = False
    access_point_hangs: bool = False
    """Until it was off and is on again."""
    restarts_access_point: bool = True
    """By one command."""
    pushes: bool = True
    encoding: bool = False
    asleep: bool = False
    sleeps_at_once: bool = False
    """Without an answer; it also reboots so."""
    reboots: int = 0
    keep_alives: int = 0
    pairing_finished: bool = False
    garbage: tuple[bytes, ...] = ()
    """What it notifies of before each answer."""
    emulated: GoProBluetooth | None = None
    """What answers commands and statuses that are not answered here."""
    silent_to: bytes = b""
    """The beginning of messages that it does not answer."""

    @property
    def is_gone(self) -> bool:
        """It was put to sleep, or rebooted."""
        return self.asleep or self.reboots > 0

    def uuids(self) -> tuple[str, ...]:
        return tuple(gp(n) for n in (2, 3, 4, 5, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x91, 0x92))

    def gatt(self) -> tuple[str, ...]:
        return (*map(assigned, (0x1800, 0x1801, 0x180A, 0x180F, 0xFEA6)), gp(0x01), gp(0x80), gp(0x90))

    def read(self, uuid: str) -> bytes:
        values = {gp(2): self.ssid, gp(3): self.password}
        return values[uuid] if uuid in values else super().read(uuid)

    def write(self, uuid: str, value: bytes) -> list[tuple[str, bytes]]:
        assert value[0] >> 5 == 1, "the hub sends lengths of 13 bits"
        message = value[2:]
        assert int.from_bytes(value[:2], "big") & 0x1FFF == len(message)
        if self.silent_to and message.startswith(self.silent_to):
            return []
        answers = {
            gp(0x72): self._command,
            gp(0x74): self._setting,
            gp(0x76): self._query,
            gp(0x91): self._management,
        }[uuid](message)
        source = {gp(n): gp(n + 1) for n in (0x72, 0x74, 0x76, 0x91)}[uuid]
        sent = [(source, packet) for packet in self.garbage]
        sent += [(source, packet) for answer in answers for packet in _packets(answer)]
        if self.pushes and self.access_point and message[:1] == b"\x17":
            sent.append((gp(0x77), b"\x05\x93\x00\x45\x01\x01"))
        return sent

    def _command(self, message: bytes) -> list[bytes]:
        if self.busy_answers:
            self.busy_answers -= 1
            return [message[:1] + b"\x01"]
        match message[0]:
            case 0x3C:
                fields = (
                    b"\0\0\0\x39",
                    b"HERO12 Black",
                    b"\0\0\0\5",
                    b"H23.01.02",
                    b"C3501324501001",
                    b"GP1001",
                    b"",
                )
                return [b"\x3c\x00" + b"".join(bytes([len(one)]) + one for one in fields)]
            case 0x17:
                if message[2] == 2 and not self.restarts_access_point:
                    return [b"\x17\x02"]
                self.access_point_hangs &= message[2] == 1
                is_on = message[2] != 0
                self.access_point = is_on and not (self.access_point_stays_off or self.access_point_hangs)
                return [b"\x17\x00"]
            case 0x05:
                self.asleep = True
                return [] if self.sleeps_at_once else [b"\x05\x00"]
            case 0x11 if self.emulated is None:
                self.reboots += 1
                return [] if self.sleeps_at_once else [b"\x11\x00"]
        if self.emulated is not None:
            return [self.emulated.answer(message)]
        return [message[:1] + b"\x02"]

    def _setting(self, message: bytes) -> list[bytes]:
        self.keep_alives += message == b"\x5b\x01\x42"
        return [b"\x5b\x00"]

    def _query(self, message: bytes) -> list[bytes]:
        if self.emulated is not None and message[0] == 0x13:
            return [self.emulated.answer(message)]
        values = {0x45: self.access_point, 0x0A: self.encoding, 0x08: False}
        parts = b"".join(bytes([one, 1, values[one]]) for one in message[1:] if one in values)
        return [bytes([message[0], 0]) + parts]

    def _management(self, message: bytes) -> list[bytes]:
        assert message[:2] == b"\x03\x01"
        self.pairing_finished, self.pairing_mode = True, False
        return [b"\x03\x81\x08\x01"]


def _packets(answer: bytes) -> list[bytes]:
    if len(answer) < 20:
        return [bytes([len(answer)]) + answer]
    head = (1 << 13 | len(answer)).to_bytes(2, "big") + answer[:18]
    rest = [answer[begin : begin + 19] for begin in range(18, len(answer), 19)]
    return [head, *(bytes([0x80 | number % 16]) + one for number, one in enumerate(rest))]


class FakeBluez:
    """One run of bluetoothd; `stop` and `start` are another one."""

    def __init__(self, bus: str) -> None:
        self._bus = bus
        self.cameras: list[FakeCamera] = []
        self.powered = True
        self.adapters = {ADAPTER_PATH: ADAPTER}
        """Their addresses by object path."""
        self.removes = asyncio.Event()
        """While it is not set, no device is removed yet."""
        self.removes.set()
        self.agents: list[str] = []
        self.takes_agents = True
        """Its bus policy may keep a user from registering one."""
        self.discovering: set[str] = set()
        self.filter: dict[str, Any] = {}
        self.advertised: list[dict[str, Any]] = []
        """What was advertised, as it was read from the caller's object."""
        self.advertising: set[str] = set()
        self.both_at_once = False
        """A discovery and an advertisement have run at the same time."""
        self.calls: list[str] = []
        self.unreadable_times = 0
        """How often it refuses to have its objects read."""
        self._reads = 0
        self._connecting: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self.connection = await BusConnection.open(self._bus)
        self.connection.serve(self._called)
        self.agents, self.discovering, self.advertising = [], set(), set()
        for camera in self.cameras:
            camera.explored = camera.bonded
            camera.known = camera.bonded or camera.connected
            camera.resolved = camera.bonded and camera.connected
        await self.connection.request_name(bluez.BLUEZ)

    async def stop(self) -> None:
        """As a kill: links end, calls stay unanswered."""
        for camera in self.cameras:
            camera.connected = camera.resolved = camera.known = False
        await self._end()

    async def stop_in_order(self) -> None:
        """As `systemctl stop`: all objects go, calls stay unanswered, and the next one finds the links as
        they were; that of a camera without a bond never gets its services."""
        for camera in self.cameras:
            if camera.known:
                self._gone(camera)
            camera.resolved = camera.known = False
        await self._end()

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self.connection.close()

    def add(self, camera: FakeCamera) -> None:
        """Have a camera in range; BlueZ knows it already if it is bonded."""
        self.cameras.append(camera)
        if camera.bonded:
            camera.explored = True
            self._appear(camera)

    def power(self, on: bool) -> None:
        self.powered = on
        self._changed(ADAPTER_PATH, bluez.ADAPTER, {"Powered": Variant("b", on)})
        if not on:
            for camera in self.cameras:
                self.lose(camera)

    def plug(
        self, path: str = OTHER_PATH, address: str = OTHER_ADAPTER, *, tells_devices: bool = True
    ) -> None:
        """Another adapter, and those whose bonds it has; its devices are told after it, or not yet."""
        self.adapters[path] = address
        self._added(path, self._adapter(path))
        for camera in self.cameras if tells_devices else ():
            if camera.bonded and camera.adapter == path:
                self._appear(camera)

    def unplug(self, path: str = ADAPTER_PATH) -> None:
        """Its devices go first."""
        for camera in self.cameras:
            if camera.known and camera.adapter == path:
                camera.connected = camera.resolved = camera.known = False
                self._gone(camera)
        del self.adapters[path]
        self.connection.emit("/", names.OBJECT_MANAGER, "InterfacesRemoved", "oas", [path, [bluez.ADAPTER]])

    def lose(self, camera: FakeCamera) -> None:
        """The link ends."""
        if camera.connected:
            camera.connected = camera.resolved = False
            camera.notifying.clear()
            gone = {"ServicesResolved": Variant("b", False), "Connected": Variant("b", False)}
            self._changed(camera.path, bluez.DEVICE, gone)

    def hear(self, camera: FakeCamera) -> None:
        """A discovery hears it: its object appears, or changes."""
        if not camera.known:
            self._appear(camera)
        else:
            properties = self._properties(camera)
            for heard in (("RSSI",), ("ManufacturerData", "ServiceData")):
                self._changed(camera.path, bluez.DEVICE, {name: properties[name] for name in heard})

    def rename(self, camera: FakeCamera) -> None:
        """A later packet has the name."""
        self._changed(camera.path, bluez.DEVICE, {"Name": Variant("s", camera.name)})

    def gain(self, camera: FakeCamera, service: str) -> None:
        """A camera that is connected has another service from now on."""
        camera.further += (service,)
        self._changed(camera.path, bluez.DEVICE, {"UUIDs": Variant("as", camera.seen_services)})

    def notify(self, camera: FakeCamera, uuid: str, value: bytes) -> None:
        path = next(path for path, one in camera.characteristics.items() if one == uuid)
        if camera.connected and uuid in camera.notifying:
            self._changed(path, bluez.CHARACTERISTIC, {"Value": Variant("ay", value)})

    # -- objects

    def _properties(self, camera: FakeCamera) -> dict[str, Variant]:
        return {
            "Address": Variant("s", camera.address),
            "AddressType": Variant("s", "random"),
            "Name": Variant("s", camera.name),
            "Paired": Variant("b", camera.bonded),
            "Connected": Variant("b", camera.connected),
            "ServicesResolved": Variant("b", camera.resolved),
            "UUIDs": Variant("as", camera.seen_services),
            "RSSI": Variant("n", -50),
            "ManufacturerData": Variant(
                "a{qv}", {k: Variant("ay", v) for k, v in camera.manufacturer.items()}
            ),
            "ServiceData": Variant("a{sv}", {k: Variant("ay", v) for k, v in camera.service_data.items()}),
        }

    def _adapter(self, path: str) -> dict[str, dict[str, Variant]]:
        return {
            bluez.ADAPTER: {
                "Address": Variant("s", self.adapters[path]),
                "Powered": Variant("b", self.powered),
            }
        }

    def _appear(self, camera: FakeCamera) -> None:
        camera.known = True
        self._added(camera.path, {bluez.DEVICE: self._properties(camera)})
        if camera.has_kept_characteristics:
            self._add_characteristics(camera)

    def _add_characteristics(self, camera: FakeCamera) -> None:
        for path, uuid in camera.characteristics.items():
            self._added(path, {bluez.CHARACTERISTIC: {"UUID": Variant("s", uuid)}})

    def _added(self, path: str, interfaces: Mapping[str, Mapping[str, Variant]]) -> None:
        self.connection.emit("/", names.OBJECT_MANAGER, "InterfacesAdded", "oa{sa{sv}}", [path, interfaces])

    def _changed(self, path: str, interface: str, changed: Mapping[str, Variant]) -> None:
        self.connection.emit(
            path, names.PROPERTIES, "PropertiesChanged", "sa{sv}as", [interface, changed, []]
        )

    def _remove(self, camera: FakeCamera) -> None:
        self.lose(camera)
        camera.known = camera.bonded = camera.explored = False
        self._gone(camera)

    def _gone(self, camera: FakeCamera) -> None:
        for path in (*camera.characteristics, camera.path):
            interface = bluez.DEVICE if path == camera.path else bluez.CHARACTERISTIC
            self.connection.emit("/", names.OBJECT_MANAGER, "InterfacesRemoved", "oas", [path, [interface]])

    # -- calls

    def _called(self, call: MethodCall) -> None:
        task = asyncio.create_task(self._answer(call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, call: MethodCall) -> None:
        self.calls.append(call.member)
        try:
            signature, body = await self._dispatch(call)
        except BusError as error:
            self.connection.reply_error(call, error.name, error.message)
        else:
            self.connection.reply(call, signature, body)

    async def _dispatch(self, call: MethodCall) -> tuple[str, list[Any]]:
        if call.member == "GetManagedObjects":
            self._reads += 1
            if self._reads <= self.unreadable_times:
                raise BusError("org.freedesktop.DBus.Error.NoReply", "it is busy")
            return "a{oa{sa{sv}}}", [self._objects()]
        if call.interface == bluez.AGENT_MANAGER:
            if not self.takes_agents:
                raise BusError("org.freedesktop.DBus.Error.AccessDenied", "Rejected send message")
            if call.sender in self.agents:
                raise BusError("org.bluez.Error.AlreadyExists", "Already Exists")
            self.agents.append(call.sender)
            return "", []
        if call.interface == bluez.ADAPTER:
            if call.member == "RemoveDevice":
                await self.removes.wait()
            return self._on_adapter(call)
        if call.interface == bluez.ADVERTISING_MANAGER:
            return await self._on_advertising(call)
        for camera in self.cameras:
            if camera.known and call.path == camera.path:
                return await self._on_device(call, camera)
            if camera.known and call.path in camera.characteristics:
                return await self._on_characteristic(call, camera)
        raise BusError(_UNKNOWN_OBJECT, f'Method "{call.member}" doesn\'t exist')

    def _objects(self) -> dict[str, Any]:
        objects: dict[str, Any] = {path: self._adapter(path) for path in self.adapters}
        for camera in self.cameras:
            if camera.known:
                objects[camera.path] = {bluez.DEVICE: self._properties(camera)}
                for path, uuid in camera.characteristics.items() if camera.has_kept_characteristics else ():
                    objects[path] = {bluez.CHARACTERISTIC: {"UUID": Variant("s", uuid)}}
        return objects

    def _on_adapter(self, call: MethodCall) -> tuple[str, list[Any]]:
        match call.member:
            case "SetDiscoveryFilter":
                self.filter = dict(call.body[0])  # type: ignore[call-overload]
            case "StartDiscovery":
                if not self.powered:
                    raise BusError("org.bluez.Error.NotReady", "Resource Not Ready")
                if call.sender in self.discovering:
                    raise BusError("org.bluez.Error.InProgress", "Operation already in progress")
                self.discovering.add(call.sender)
                self.both_at_once |= bool(self.advertising)
                for camera in self.cameras:
                    if camera.in_range:
                        self.hear(camera)
            case "StopDiscovery":
                if call.sender not in self.discovering:
                    raise BusError(_FAILED, "No discovery started")
                self.discovering.discard(call.sender)
            case "RemoveDevice":
                removed = [one for one in self.cameras if one.known and one.path == call.body[0]]
                if not removed:
                    raise BusError("org.bluez.Error.DoesNotExist", "Does Not Exist")
                self._remove(removed[0])
        return "", []

    async def _on_advertising(self, call: MethodCall) -> tuple[str, list[Any]]:
        path = str(call.body[0])
        if call.member == "RegisterAdvertisement":
            [read] = await self.connection.call(
                call.sender, path, names.PROPERTIES, "GetAll", "s", [bluez.ADVERTISEMENT]
            )
            self.advertised.append(dict(read))  # type: ignore[call-overload]
            self.advertising.add(path)
            self.both_at_once |= bool(self.discovering)
        else:
            self.advertising.discard(path)
        return "", []

    async def _on_device(self, call: MethodCall, camera: FakeCamera) -> tuple[str, list[Any]]:
        match call.member:
            case "GetAll":
                return "a{sv}", [self._properties(camera)]
            case "Connect":
                await self._connect(camera)
            case "Disconnect":
                if camera.address in self._connecting:
                    self._connecting[camera.address].set()
                self.lose(camera)
            case "Pair":
                await self._pair(camera, call.sender)
        return "", []

    async def _connect(self, camera: FakeCamera) -> None:
        camera.connects += 1
        if camera.connected:
            return  # also where its services never come
        if not self.powered:
            raise BusError(_FAILED, "Input/output error")
        if camera.io_errors:
            camera.io_errors -= 1
            raise BusError(_FAILED, "Input/output error")
        if camera.failing_connects:
            camera.failing_connects -= 1
            raise BusError(*camera.failure)
        if camera.address in self._connecting:
            raise BusError(_FAILED, "Operation already in progress")
        given_up = self._connecting[camera.address] = asyncio.Event()
        try:
            await self._until_in_range(camera, given_up)
        finally:
            del self._connecting[camera.address]
        stranger = not camera.bonded and not camera.pairing_mode
        if stranger or (camera.bonded and not camera.knows_host):
            self._changed(camera.path, bluez.DEVICE, {"Connected": Variant("b", False)})
            if camera.tells_reason:
                reason = bluez.REASON_AUTHENTICATION if camera.bonded else "org.bluez.Reason.Unknown"
                self.connection.emit(
                    camera.path, bluez.DEVICE, "Disconnected", "ss", [reason, "the link has ended"]
                )
            raise BusError(_FAILED, _ABORTED)
        camera.connected = True
        if not camera.connected_unsignalled:
            self._changed(camera.path, bluez.DEVICE, {"Connected": Variant("b", True)})
        asyncio.get_running_loop().call_soon(self._resolve, camera)

    async def _until_in_range(self, camera: FakeCamera, given_up: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        end_s = loop.time() + ABSENT_S
        while not camera.in_range:
            if given_up.is_set():
                raise BusError(_FAILED, "br-connection-canceled")
            if loop.time() > end_s:
                raise BusError(_FAILED, _ABORTED)
            await asyncio.sleep(0.01)

    def _resolve(self, camera: FakeCamera) -> None:
        if camera.connected and not camera.never_resolves:
            camera.resolved = camera.explored = True
            changed = {
                "UUIDs": Variant("as", camera.seen_services),
                "ServicesResolved": Variant("b", True),
            }
            self._changed(camera.path, bluez.DEVICE, changed)
            asyncio.get_running_loop().call_later(
                camera.late_characteristics_s, self._add_characteristics, camera
            )

    async def _pair(self, camera: FakeCamera, caller: str) -> None:
        camera.pairs += 1
        if camera.ignores_pair:
            await asyncio.Event().wait()
        if camera.bonded:
            raise BusError("org.bluez.Error.AlreadyExists", "Already Exists")
        if caller not in self.agents or camera.refuses_pairing:
            self.lose(camera)
            raise BusError("org.bluez.Error.AuthenticationFailed", "Authentication Failed")
        camera.bonded = camera.knows_host = True
        self._changed(camera.path, bluez.DEVICE, {"Paired": Variant("b", True)})
        if camera.pair_unanswered:
            await asyncio.Event().wait()

    async def _on_characteristic(self, call: MethodCall, camera: FakeCamera) -> tuple[str, list[Any]]:
        uuid = camera.characteristics[call.path]
        if not camera.connected:
            raise BusError(_FAILED, "Not connected")
        if camera.hangs:
            await asyncio.Event().wait()
        at = {"ReadValue": "read", "WriteValue": "write"}.get(call.member, "")
        if at and at == camera.loses_link_at and camera.losses:
            camera.losses -= 1
            self.lose(camera)
            raise BusError(_FAILED, "Operation failed with ATT error: 0x0e")
        match call.member:
            case "StartNotify":
                camera.notifying.add(uuid)
            case "ReadValue":
                value = camera.read(uuid)
                self._changed(call.path, bluez.CHARACTERISTIC, {"Value": Variant("ay", value)})
                return "ay", [value]
            case "WriteValue":
                for source, packet in camera.write(uuid, bytes(call.body[0])):  # type: ignore[call-overload]
                    self.notify(camera, source, packet)
                if isinstance(camera, FakeGoPro) and camera.sleeps_at_once and camera.is_gone:
                    self.lose(camera)
        return "", []
