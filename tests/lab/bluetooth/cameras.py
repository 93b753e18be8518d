"""Emulated cameras: a GoPro as Open GoPro's documents say, a Theta, and an Insta360."""

import asyncio
from collections.abc import Callable
from typing import Any

from bumble import gatt, hci
from bumble.att import ATT_Error
from bumble.core import UUID
from bumble.device import Device, DeviceConfiguration
from bumble.host import Host
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate

from wifimgrd.camera.drivers.gopro_messages import values_of
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, GoProBluetooth, GoProEmulator

from .radio import Air, Radio

_INTERVAL_MS = 100
_STAY_S = 0.05
_WRITE_NOT_PERMITTED = 0x03
_Properties = gatt.Characteristic.Properties
_Permissions = gatt.Characteristic


def gp(number: int) -> str:
    """The UUID of a characteristic or service of GoPro's."""
    return f"B5F9{number:04X}-AA8D-11E3-9046-0002A5D5C51B"


def _keyboard() -> Any:
    """Human Interface Device over GATT: its information, its report map, one report, its control point."""
    report_map = bytes.fromhex("05010906a10105071900296515002565750895068100c0")
    report = gatt.Characteristic(
        UUID.from_16_bits(0x2A4D),
        _Properties.READ | _Properties.NOTIFY,
        _Permissions.READABLE,
        bytes(8),
        [gatt.Descriptor(UUID.from_16_bits(0x2908), _Permissions.READABLE, b"\x00\x01")],
    )
    return gatt.Service(
        UUID.from_16_bits(0x1812),
        [
            *(
                gatt.Characteristic(UUID.from_16_bits(number), _Properties.READ, _Permissions.READABLE, value)
                for number, value in ((0x2A4A, b"\x11\x01\x00\x02"), (0x2A4B, report_map))
            ),
            report,
            gatt.Characteristic(
                UUID.from_16_bits(0x2A4C),
                _Properties.WRITE_WITHOUT_RESPONSE,
                _Permissions.WRITEABLE,
                bytes(1),
            ),
        ],
    )


class _Delegate(PairingDelegate):  # type: ignore[misc]
    """Pairs without asking, unless the camera refuses."""

    def __init__(self, camera: "Camera") -> None:
        super().__init__(PairingDelegate.NO_OUTPUT_NO_INPUT)
        self._camera = camera

    async def accept(self) -> bool:
        """Whether the camera wants to be paired."""
        await self._camera.phase("pairing")
        return not self._camera.refuses_pairing


class Camera:
    """A peripheral with a GATT server, and what a test can do to it."""

    def __init__(self, air: Air, address: str, name: str) -> None:
        self.address, self.name = address, name
        self.radio = Radio(name, link=air)
        host = Host()
        host.controller = self.radio
        self.device = Device(
            config=DeviceConfiguration(
                name=name,
                address=hci.Address(address),
                irk=bytes.fromhex(address.replace(":", "")) + bytes(10),
                advertising_interval_min=_INTERVAL_MS,
                advertising_interval_max=_INTERVAL_MS,
            ),
            host=host,
        )
        self.bonds = MemoryKeyStore()
        self.device.keystore = self.bonds
        self.secure_connections = True
        self.refuses_pairing = False
        self.pairing_mode = True
        self.ignores_strangers = False
        """As a GoPro outside of its pairing mode, which answers only those with a bond."""
        self.lose_link_at = ""
        """`read` or `write`."""
        self.stays_in = ""
        """The phase of an operation that goes on once this is empty: `services`, `pairing`; a GoPro also has
        `boot` and `access_point`."""
        self.phases: list[str] = []
        """Those that it has stayed in."""
        self.connection: Any = None
        self.events: list[str] = []

    async def start(self) -> None:
        """Serve and advertise."""
        self.radio.answers = lambda _: (
            not self.ignores_strangers or self.pairing_mode or bool(self.bonds.all_keys)
        )
        self.device.pairing_config_factory = lambda _: PairingConfig(
            sc=self.secure_connections,
            mitm=False,
            bonding=True,
            delegate=_Delegate(self),
            identity_address_type=PairingConfig.AddressType.RANDOM,
        )
        self.device.add_services(self.services())
        self.device.on("connection", self._connected)
        self.device.host.long_term_key_provider = self._long_term_key
        await self.device.power_on()
        await self.advertise()

    def services(self) -> list[Any]:
        """The GATT services."""
        raise NotImplementedError

    def advertisement(self) -> tuple[bytes, bytes]:
        """The advertising data, and the scan response."""
        raise NotImplementedError

    def woken(self) -> None:
        """A central has connected."""

    async def advertise(self) -> None:
        """Advertise, or change what is advertised."""
        data, response = self.advertisement()
        self.radio.scan_response = response
        if self.connection is not None:
            self.device.advertising_data, self.device.scan_response_data = data, response
            return
        await self.device.start_advertising(
            auto_restart=True,
            advertising_data=data,
            scan_response_data=response,
            own_address_type=hci.OwnAddressType.RANDOM,
        )

    def readable(self, uuid: str, value: Callable[[], bytes], *, encrypted: bool = True) -> Any:
        """A characteristic to be read."""
        permissions = _Permissions.READABLE | (_Permissions.READ_REQUIRES_ENCRYPTION if encrypted else 0)

        def read(_: Any) -> bytes:
            self.events.append(f"read {uuid[:8]}")
            self._lose_link("read")
            return value()

        return gatt.Characteristic(uuid, _Properties.READ, permissions, gatt.CharacteristicValue(read=read))

    def writable(self, uuid: str, write: Callable[[bytes], None], *, encrypted: bool = True) -> Any:
        """A characteristic to be written."""
        permissions = _Permissions.WRITEABLE | (_Permissions.WRITE_REQUIRES_ENCRYPTION if encrypted else 0)

        def written(_: Any, value: bytes) -> None:
            if not self._lose_link("write"):
                write(bytes(value))

        return gatt.Characteristic(
            uuid, _Properties.WRITE, permissions, gatt.CharacteristicValue(write=written)
        )

    def notifying(self, uuid: str) -> Any:
        """A characteristic that notifies."""
        return gatt.Characteristic(
            uuid, _Properties.NOTIFY, _Permissions.READABLE | _Permissions.READ_REQUIRES_ENCRYPTION, b""
        )

    def notify(self, characteristic: Any, value: bytes) -> None:
        """Notify the central, if it has subscribed."""
        if self.connection is not None:
            keep(self.device.notify_subscriber(self.connection, characteristic, value))

    async def phase(self, name: str) -> None:
        """Stay in a phase for as long as that is wanted."""
        if self.stays_in == name:
            self.phases.append(name)
        while self.stays_in == name:  # noqa: ASYNC110 - a test sets it
            await asyncio.sleep(_STAY_S)

    async def forget(self, *, pairing_mode: bool) -> None:
        """Lose all bonds, as by a reset of the camera's connections."""
        self.bonds.all_keys.clear()
        self.pairing_mode = pairing_mode
        await self.advertise()

    def become_keyboard(self) -> None:
        """Have a keyboard's service, too, from now on, and tell who is connected: BlueZ makes an input device
        of it."""
        server, changed = self.device.gatt_server, self.device.gatt_service.service_changed_characteristic
        first = server.next_handle()
        self.device.add_services([_keyboard()])
        if self.connection is not None:
            handles = first.to_bytes(2, "little") + server.attributes[-1].handle.to_bytes(2, "little")
            keep(self.device.indicate_subscriber(self.connection, changed, handles))

    def leave(self) -> None:
        """Out of range, or without a battery."""
        self.radio.in_range = False
        self.radio.lose_links()

    async def come_back(self) -> None:
        """In range again."""
        self.radio.in_range = True
        await self.advertise()

    def _lose_link(self, at: str) -> bool:
        if self.lose_link_at != at:
            return False
        self.lose_link_at = ""
        asyncio.get_running_loop().call_soon(self.radio.lose_links)
        return True

    def _connected(self, connection: Any) -> None:
        self.connection = connection
        self.events.append("connected")
        connection.on("disconnection", self._disconnected)
        if self.stays_in == "services":
            self.radio.hangs = True
            keep(self._hang())
        self.woken()

    async def _hang(self) -> None:
        await self.phase("services")
        self.radio.hangs = False

    def _disconnected(self, _: Any) -> None:
        self.connection = None
        self.events.append("disconnected")
        keep(self.advertise())

    async def _long_term_key(self, handle: int, random: bytes, ediv: int) -> bytes | None:
        """The key that the central's request names: of a legacy pairing two are kept."""
        connection = self.device.lookup_connection(handle)
        if connection is None:
            return None
        current = self.device.smp_manager.get_long_term_key(connection, random, ediv)
        if current:
            return bytes(current)
        keys = await self.bonds.get(str(connection.peer_address))
        for key in (keys.ltk, keys.ltk_central, keys.ltk_peripheral) if keys else ():
            if key and (key.ediv or 0) == ediv and (key.rand or bytes(8)) == random:
                return bytes(key.value)
        return None


class GoPro(Camera):
    """https://gopro.github.io/OpenGoPro/docs/ble"""

    def __init__(
        self, air: Air, number: str, ssid: str = "", password: str = "dive-1234", boot_s: float = 0.0
    ) -> None:
        super().__init__(air, f"D4:32:60:00:{number[:2]}:{number[2:]}", f"GoPro {number}")
        self.number, self.ssid, self.password, self.boot_s = number, ssid or f"GP{number}", password, boot_s
        self.awake = self.access_point = self.encoding = self.pairing_finished = False
        self.keep_alives = 0
        self._emulated = EmulatedCamera(
            CameraSettings(serial_number=f"C350132450{number}", ssid=self.ssid, battery=87)
        )
        self._messages = GoProBluetooth(GoProEmulator(self._emulated))
        self._busy_until_s = 0.0
        self._registered: set[int] = set()
        self._responses: dict[int, Any] = {}

    def services(self) -> list[Any]:
        """The access point's, the management's, and that of commands and queries."""
        self._responses = {number: self.notifying(gp(number + 1)) for number in (0x72, 0x74, 0x76, 0x91)}
        access_point = [
            self.readable(gp(2), self.ssid.encode),
            self.readable(gp(3), self.password.encode),
            self.writable(gp(4), lambda _: None),
        ]
        return [
            gatt.Service(gp(0x01), access_point),
            gatt.Service(gp(0x90), self._channel(0x91, self._management)),
            gatt.Service(
                UUID.from_16_bits(0xFEA6),
                [
                    *self._channel(0x72, self._command),
                    *self._channel(0x74, self._setting),
                    *self._channel(0x76, self._query),
                ],
            ),
        ]

    def advertisement(self) -> tuple[bytes, bytes]:
        """Schema 2."""
        status = self.awake | self.access_point << 1 | self.pairing_mode << 2
        maker = bytes([2, status, 57, 1]) + bytes(7) + b"\x0c"
        data = b"\x02\x01\x06" + b"\x03\x02\xa6\xfe" + bytes([len(maker) + 3]) + b"\xff\xf2\x02" + maker
        name = self.name.encode()
        service_data = b"\xa6\xfe\xd4\x32\x60\x00" + self.number.encode()
        response = bytes([len(name) + 1, 9]) + name + bytes([len(service_data) + 1, 0x16]) + service_data
        return data, response

    def woken(self) -> None:
        """It boots."""
        self._registered.clear()
        if not self.awake:
            self.awake = True
            loop = asyncio.get_running_loop()
            self._busy_until_s = loop.time() + self.boot_s
            loop.call_later(self.boot_s, self._booted)

    def _booted(self) -> None:
        """Tell those who have registered that it is not busy any more."""
        if 8 in self._registered and not self._busy:
            self._send(0x76, b"\x93\x00\x08\x01\x00")

    @property
    def _busy(self) -> bool:
        return asyncio.get_running_loop().time() < self._busy_until_s

    def _channel(self, number: int, answer: Callable[[bytes], bytes | None]) -> list[Any]:
        def written(packet: bytes) -> None:
            # The hub's messages fit into one packet, with a length of 13 bits; the SDK's also with one of 5.
            is_extended = packet[0] >> 5 == 1
            message = packet[2:] if is_extended else packet[1:]
            length = int.from_bytes(packet[:2], "big") & 0x1FFF if is_extended else packet[0] & 0x1F
            if length != len(message):
                self.events.append(f"length of {packet.hex()}")
                return
            reply = answer(message)
            if reply is not None:
                self._send(number, reply)

        return [self.writable(gp(number), written), self._responses[number]]

    def _send(self, number: int, message: bytes) -> None:
        packets = [bytes([len(message)]) + message]
        if len(message) > 19:
            packets = [(1 << 13 | len(message)).to_bytes(2, "big") + message[:18]]
            rest = message[18:]
            packets += [
                bytes([0x80 | begin // 19 % 16]) + rest[begin : begin + 19]
                for begin in range(0, len(rest), 19)
            ]
        keep(self._notify_all(self._responses[number], packets))

    async def _notify_all(self, characteristic: Any, packets: list[bytes]) -> None:
        for packet in packets:
            if self.connection is not None:
                await self.device.notify_subscriber(self.connection, characteristic, packet)

    def _command(self, message: bytes) -> bytes | None:
        self.events.append(f"command {message.hex()}")
        match message[0]:
            case 0x3C if self._busy or self.stays_in == "boot":
                if self.stays_in and self.phases[-1:] != ["boot"]:
                    self.phases.append("boot")
                return b"\x3c\x01"
            case 0x3C:
                fields = (
                    b"\0\0\0\x39",
                    b"HERO12 Black",
                    b"\0\0\0\x05",
                    b"H23.01.02.32.00",
                    f"C350132450{self.number}".encode(),
                    self.ssid.encode(),
                    b"d4326000abcd",
                )
                return b"\x3c\x00" + b"".join(bytes([len(one)]) + one for one in fields)
            case 0x05:
                self.awake = False
                keep(self._fall_asleep())
                return b"\x05\x00"
            case 0x01 | 0x0D | 0x0E | 0x0F | 0x3E:
                answer = self._messages.answer(message)
                self._see_recording()
                return answer
            case 0x50:
                return b"\x50\x00"
            case 0x51:
                return b"\x51\x00\x01\x02\x01\x00"
            case 0x17 if self._busy:
                return b"\x17\x01"
            case 0x17 if message[1:2] == b"\x01":
                keep(self.switch_access_point(on=message[2:] != b"\x00"))
                return b"\x17\x00"
        return bytes([message[0], 2])

    def _setting(self, message: bytes) -> bytes:
        if message == b"\x5b\x01\x42":
            self.keep_alives += 1
            return b"\x5b\x00"
        return bytes([message[0], 0])

    def _query(self, message: bytes) -> bytes:
        if message[0] == 0xF5:  # of the camera on another network: it is on none
            return bytes([message[0], message[1] | 0x80]) + b"\x08\x00\x10\x00"
        if message[0] == 0x53:
            self._registered |= set(message[1:])
        if message[0] not in (0x13, 0x53):
            return bytes([message[0], 0])
        values = {
            8: bytes([self._busy]),
            10: bytes([self.encoding]),
            69: bytes([self.access_point]),
            **{
                one: value
                for one, value in values_of(self._messages.answer(b"\x13")[2:]).items()
                if one not in (8, 10, 69)
            },
        }
        wanted = message[1:] or bytes(values)
        parts = b"".join(bytes([one, len(values[one])]) + values[one] for one in wanted if one in values)
        return bytes([message[0], 0]) + parts

    def _see_recording(self) -> None:
        """Tell those who have registered that it has begun to record, or stopped."""
        if self.encoding != self._emulated.is_recording:
            self.encoding = self._emulated.is_recording
            if 10 in self._registered:
                self._send(0x76, b"\x93\x00\x0a\x01" + bytes([self.encoding]))

    def _management(self, message: bytes) -> bytes:
        if message[:2] == b"\x03\x01":
            self.pairing_finished, self.pairing_mode = True, False
            return b"\x03\x81\x08\x01"
        return bytes([message[0], message[1] | 0x80]) + b"\x08\x03"

    async def switch_access_point(self, *, on: bool) -> None:
        """Switch its Wi-Fi, and tell those who have registered."""
        await self.phase("access_point")
        self.access_point = on
        if 69 in self._registered:
            self._send(0x76, bytes([0x93, 0, 69, 1, on]))
        await self.advertise()

    async def doze(self) -> None:
        """Fall asleep by itself, as after minutes without use."""
        self.awake = False
        await self._fall_asleep()

    async def _fall_asleep(self) -> None:
        self.access_point = False
        if self.connection is not None:
            await self.connection.disconnect()
        else:
            await self.advertise()


class Theta(Camera):
    """https://github.com/ricohapi/theta-api-specs, theta-bluetooth-api: a V, which does not pair."""

    _SERVICE = "0F291746-0C80-4726-87A7-3C501FD3B4B6"

    def __init__(self, air: Air, number: str) -> None:
        super().__init__(air, f"E0:00:00:{number[2:4]}:{number[4:6]}:{number[6:]}", number)
        self.number = number
        self.power, self.network = 2, 0
        self.known_host = ""
        """The UUID that was registered over Wi-Fi; empty accepts every one."""
        self.authenticated = ""
        self.authentications = 0

    def services(self) -> list[Any]:
        """Bluetooth control, camera status, WLAN control, camera information."""
        return [
            gatt.Service(
                self._SERVICE,
                [self.writable("EBAFB2F0-0E0F-40A2-A84F-E2F098DC13C3", self._authenticate, encrypted=False)],
            ),
            gatt.Service(
                "8AF982B1-F1FF-4D49-83F0-A56DB4C431A7",
                [self.writable("B58CE84C-0666-4DE9-BEC8-2D27B27B3211", self._set_power, encrypted=False)],
            ),
            gatt.Service(
                "F37F568F-9071-445D-A938-5441F2E82399",
                [
                    self.writable("9111CDD0-9F01-45C4-A2D4-E09E8FB0424D", self._set_network, encrypted=False),
                    self.readable("E522112A-5689-4901-0803-0520637DC895", lambda: b"\0", encrypted=False),
                ],
            ),
            gatt.Service(
                "9A5ED1C5-74CC-4C50-B5B6-66A48E7CCFF1",
                [
                    self.readable(
                        "35FE6272-6AA5-44D9-88E1-F09427F51A71", lambda: b"RICOH THETA V", encrypted=False
                    ),
                    self.readable(
                        "0D2FC4D5-5CB3-4CDE-B519-445E599957D8", f"YL{self.number}".encode, encrypted=False
                    ),
                ],
            ),
        ]

    def advertisement(self) -> tuple[bytes, bytes]:
        """Its name is the number in its serial number."""
        name = self.name.encode()
        uuid = bytes(UUID(self._SERVICE))
        return b"\x02\x01\x06" + bytes([17, 7]) + uuid, bytes([len(name) + 1, 9]) + name

    def woken(self) -> None:
        """Every connection is authenticated anew."""
        self.authenticated = ""

    def _authenticate(self, value: bytes) -> None:
        if not self.known_host or value.decode() == self.known_host:
            self.authenticated = value.decode()
            self.authentications += 1

    def _set_power(self, value: bytes) -> None:
        if self.power == 2 and value == b"\x01":
            self.authenticated = ""
        self.power = value[0]

    def _set_network(self, value: bytes) -> None:
        if not self.authenticated or self.power != 1:
            raise ATT_Error(_WRITE_NOT_PERMITTED)
        self.network = value[0]


class Insta360:
    """A camera that is woken by its remote control's advertisement; it has no Bluetooth of its own here."""

    def __init__(self, air: Air, name: str) -> None:
        self.name = name
        self.remote = (
            bytes.fromhex("ff4c000215094f5242495409ff0f00")
            + name[-6:].encode()
            + bytes.fromhex("00000000e401")
        )
        """The manufacturer data of its remote's advertisement, as captured, with their type."""
        self.awake = False
        self.heard: list[bytes] = []
        """Different advertisements, in their order. BlueZ has the flags at the end, the remote at the
        beginning."""
        air.listeners.append(self._hear)

    def _hear(self, data: bytes) -> None:
        if not self.heard or self.heard[-1] != data:
            self.heard.append(data)
        self.awake = self.awake or self.remote in _structures(data)


def _structures(data: bytes) -> list[bytes]:
    """The structures of an advertisement, each from its type on: Core 5.4, volume 3, part C, 11."""
    found = []
    while data and data[0]:
        found.append(data[1 : 1 + data[0]])
        data = data[1 + data[0] :]
    return found


_running: set[asyncio.Future[Any]] = set()


def keep(work: Any) -> None:
    """Run something that nobody waits for; what has failed because the link has ended is of no interest."""
    task = asyncio.ensure_future(work)
    _running.add(task)
    task.add_done_callback(_ended)


def _ended(task: "asyncio.Future[Any]") -> None:
    _running.discard(task)
    if not task.cancelled():
        task.exception()
