"""What wifimgrd-net does in wpa_supplicant, for backends of the tests, which have no helper."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon.helper_client.helper import network_arguments
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.helper import _supplicant as supplicant
from wifimgrd.helper._call_arguments import network_of
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement


@asynccontextmanager
async def system_bus() -> AsyncIterator[BusConnection]:
    """A connection to the guest's system bus."""
    connection = await BusConnection.open("system")
    try:
        yield connection
    finally:
        await connection.close()


async def register_interface(interface: str) -> str:
    async with system_bus() as connection:
        return await supplicant.register_interface(connection, interface)


async def add_network(request: JoinRequest, key_management: KeyManagement, bssid: str) -> str:
    interface, *_ = arguments = network_arguments(request, key_management, bssid)
    async with system_bus() as connection:
        return await supplicant.RegisteredInterfaces(connection).add_network(
            interface, network_of(*arguments[1:])
        )


async def limit_networks(interface: str, bssid: str) -> None:
    async with system_bus() as connection:
        await supplicant.RegisteredInterfaces(connection).limit_networks(interface, bssid)


async def set_country(interface: str, country: str) -> None:
    async with system_bus() as connection:
        await supplicant.RegisteredInterfaces(connection).set_country(interface, country)
