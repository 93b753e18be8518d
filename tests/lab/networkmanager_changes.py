"""What wifimgrd-net does in NetworkManager, for backends of the tests, which have no helper."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from wifimgrd.bus.connection import BusError
from wifimgrd.daemon.helper_client.helper import profile_arguments
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.helper import _networkmanager as networkmanager
from wifimgrd.helper._call_arguments import profile_of
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement
from wifimgrd.wire.errors import NAME_OF

from .supplicant_changes import system_bus


@asynccontextmanager
async def _replied() -> AsyncIterator[None]:
    """Errors are as the helper replies with them."""
    try:
        yield
    except WifimgrdError as error:
        raise BusError(NAME_OF[error.code], error.message) from None


class Changes:
    """Those of the helper, without its check of what the host has on an interface."""

    async def activate(
        self,
        request: JoinRequest,
        key_management: KeyManagement,
        bssid: str,
        device: str,
        uuid: str,
        remaining_s: float,
    ) -> tuple[str, str]:
        arguments = profile_arguments(request, key_management, bssid, device, uuid, remaining_s, 10.0)
        async with _replied(), system_bus() as connection:
            return await networkmanager.activate_profile(connection, *profile_of(*arguments))

    async def deactivate(self, active_connection: str) -> None:
        async with _replied(), system_bus() as connection:
            await networkmanager.deactivate_profile(connection, active_connection)

    async def delete(self, profile: str) -> None:
        async with _replied(), system_bus() as connection:
            await networkmanager.delete_profile(connection, profile)

    async def set_managed(self, interface: str, value: bool) -> None:
        async with _replied(), system_bus() as connection:
            await networkmanager.set_managed(connection, interface, value)

    async def set_autoconnect(self, interface: str, value: bool) -> None:
        async with _replied(), system_bus() as connection:
            await networkmanager.set_autoconnect(connection, interface, value)
