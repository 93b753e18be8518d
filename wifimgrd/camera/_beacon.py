"""Advertisements by this host that wake cameras, such as that of Insta360's remote control."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, MethodCall, Variant
from wifimgrd.domain.errors import BluetoothUnavailable
from wifimgrd.proxies.bluez import definitions as bluez
from wifimgrd.proxies.bluez.objects import NO_ANSWER, AdvertisingManager
from wifimgrd.wire import camera_calls as calls

BEACONS_PATH: Final = calls.PATH + "/beacon/"
_ERROR: Final = bus_names.BUS_DAEMON + ".Error."
_COMPANY: Final = 2
"""Bytes of the company's number, little endian, before the data."""


@dataclass(frozen=True, slots=True)
class _Beacon:
    """One advertisement: its properties, and an event that is set when bluetoothd ends it."""

    properties: Mapping[str, Variant]
    released: asyncio.Event = field(default_factory=asyncio.Event)


class Beacons:
    """The advertisements that are under way, as objects that bluetoothd reads. Several can be at a time."""

    def __init__(self, connection: BusConnection) -> None:
        self._connection = connection
        self._numbers = count()
        self._beacons: dict[str, _Beacon] = {}
        """By object path."""

    @asynccontextmanager
    async def advertise(self, adapter: str, data: bytes, limit_s: int) -> AsyncIterator[asyncio.Event]:
        """Advertise manufacturer data; yields an event that is set if bluetoothd ends it. Raises
        BluetoothUnavailable.

        As captured from the remote control: connectable, with the flags Limited Discoverable and BR/EDR Not
        Supported.
        """
        path = f"{BEACONS_PATH}{next(self._numbers)}"
        company = int.from_bytes(data[:_COMPANY], "little")
        beacon = self._beacons[path] = _Beacon(
            {
                "Type": Variant("s", "peripheral"),
                "Discoverable": Variant("b", True),
                "DiscoverableTimeout": Variant("q", limit_s),
                "ManufacturerData": Variant("a{qv}", {company: Variant("ay", data[_COMPANY:])}),
            }
        )
        manager = AdvertisingManager(self._connection, adapter)
        try:
            await manager.register(path)
            yield beacon.released
        except BusError as error:
            raise BluetoothUnavailable(f"the adapter cannot advertise: {error.message[:200]}") from None
        except TimeoutError:
            raise BluetoothUnavailable(NO_ANSWER) from None
        finally:
            del self._beacons[path]
            if not beacon.released.is_set():
                with suppress(BusError, BusClosed, TimeoutError):
                    await manager.unregister(path)

    def answer(self, call: MethodCall) -> None:
        """Answer what bluetoothd asks an advertisement."""
        beacon = self._beacons.get(call.path)
        properties = {} if beacon is None else beacon.properties
        match call.interface, call.member:
            case bluez.ADVERTISEMENT, "Release":
                if beacon is not None:
                    beacon.released.set()
                self._connection.reply(call)
            case bus_names.PROPERTIES, "GetAll" if properties:
                self._connection.reply(call, "a{sv}", [properties])
            case bus_names.PROPERTIES, "Get" if call.body and call.body[-1] in properties:
                self._connection.reply(call, "v", [properties[str(call.body[-1])]])
            case bus_names.PROPERTIES, _:
                self._connection.reply_error(call, _ERROR + "InvalidArgs", "there is no such property")
            case _:
                self._connection.reply_error(call, _ERROR + "UnknownMethod", "there is no such method")
