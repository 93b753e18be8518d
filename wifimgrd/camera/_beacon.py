"""An advertisement by this host that wakes a camera, such as that of Insta360's remote control."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, MethodCall, Variant
from wifimgrd.camera import names
from wifimgrd.domain.errors import BluetoothUnavailable
from wifimgrd.proxies.bluez import definitions as bluez
from wifimgrd.proxies.bluez.objects import AdvertisingManager

BEACON_PATH: Final = names.PATH + "/beacon"
_ERROR: Final = bus_names.BUS_DAEMON + ".Error."
_COMPANY: Final = 2
"""Bytes of the company's number, little endian, before the data."""


class Beacon:
    """The advertisement, as an object that bluetoothd reads; one at a time."""

    def __init__(self, connection: BusConnection) -> None:
        self._connection = connection
        self._properties: dict[str, Variant] = {}
        """Empty while nothing is advertised."""
        self._released = asyncio.Event()

    @asynccontextmanager
    async def advertise(self, adapter: str, data: bytes, limit_s: int) -> AsyncIterator[asyncio.Event]:
        """Advertise manufacturer data; yields an event that is set if bluetoothd ends it. Raises
        BluetoothUnavailable.

        As captured from the remote control: connectable, with the flags Limited Discoverable and BR/EDR Not
        Supported.
        """
        company = int.from_bytes(data[:_COMPANY], "little")
        self._properties = {
            "Type": Variant("s", "peripheral"),
            "Discoverable": Variant("b", True),
            "DiscoverableTimeout": Variant("q", limit_s),
            "ManufacturerData": Variant("a{qv}", {company: Variant("ay", data[_COMPANY:])}),
        }
        self._released = asyncio.Event()
        manager = AdvertisingManager(self._connection, adapter)
        try:
            await manager.register(BEACON_PATH)
            yield self._released
        except BusError as error:
            raise BluetoothUnavailable(f"the adapter cannot advertise: {error.message[:200]}") from None
        except TimeoutError:
            raise BluetoothUnavailable("bluetoothd does not answer") from None
        finally:
            self._properties = {}
            if not self._released.is_set():
                with suppress(BusError, BusClosed, TimeoutError):
                    await manager.unregister(BEACON_PATH)

    def answer(self, call: MethodCall) -> None:
        """Answer what bluetoothd asks the advertisement."""
        match call.interface, call.member:
            case bluez.ADVERTISEMENT, "Release":
                self._released.set()
                self._connection.reply(call)
            case bus_names.PROPERTIES, "GetAll" if self._properties:
                self._connection.reply(call, "a{sv}", [self._properties])
            case bus_names.PROPERTIES, "Get" if self._properties and call.body[-1] in self._properties:
                self._connection.reply(call, "v", [self._properties[str(call.body[-1])]])
            case bus_names.PROPERTIES, _:
                self._connection.reply_error(call, _ERROR + "InvalidArgs", "there is no such property")
            case _:
                self._connection.reply_error(call, _ERROR + "UnknownMethod", "there is no such method")
