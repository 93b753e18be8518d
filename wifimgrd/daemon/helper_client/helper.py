"""The calls of the daemon to the privileged helper, by what they are about."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Final

from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.bus.proxy import Proxy
from wifimgrd.bus.values import typed
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.proxies.networkd.definitions import SETTINGS_FILE, SETTINGS_FOLDER
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement
from wifimgrd.wire import helper_calls as calls
from wifimgrd.wire.private_calls import Member

_START_TIMED_OUT: Final = "org.freedesktop.DBus.Error.TimedOut"


class Helper(Proxy):
    """The helper's object."""

    SERVICE = INTERFACE = calls.BUS_NAME

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, calls.PATH)

    async def carry_out(self, method: Member, *arguments: object) -> list[object]:
        """Call a method, and return the values of the reply; the helper is started where it does not run.

        dbus-daemon waits 25 s for a service that it has asked systemd to start, also where systemd has long
        failed to. A call in that time waits for the same start and fails with it, so it is made once more.
        """
        call = partial(self.call, method.name, method.signature, arguments)
        try:
            return await call()
        except BusError as error:
            if error.name != _START_TIMED_OUT:
                raise
        return await call()


class HelperSupplicant(Helper):
    """The helper's methods for wpa_supplicant, whose own errors are passed on; each raises BusError,
    BusClosed, TimeoutError."""

    TIMEOUT_S = 10.0

    async def register_interface(self, interface: str) -> str:
        """Register the interface, and return its object path."""
        return typed(tuple[str], await self.carry_out(calls.REGISTER_INTERFACE, interface))[0]

    async def add_network(self, request: JoinRequest, key_management: KeyManagement, bssid: str) -> str:
        """Configure the network of an attempt, disabled, and return its object path."""
        arguments = network_arguments(request, key_management, bssid)
        return typed(tuple[str], await self.carry_out(calls.ADD_NETWORK, *arguments))[0]

    async def limit_networks(self, interface: str, bssid: str) -> None:
        """Have the interface's networks be joined only at this access point."""
        await self.carry_out(calls.LIMIT_NETWORKS, interface, bssid)

    async def set_country(self, interface: str, country: str) -> None:
        """Set the regulatory domain."""
        await self.carry_out(calls.SET_COUNTRY, interface, country)


def network_arguments(
    request: JoinRequest, key_management: KeyManagement, bssid: str
) -> calls.NetworkArguments:
    """As the call `AddNetwork` takes them."""
    return (
        request.interface,
        request.device_id,
        request.ssid.data,
        key_management.value,
        request.passphrase.reveal() if key_management.has_password else "",
        bssid,
        request.hidden,
    )


class HelperNetworkManager(Helper):
    """The helper's methods for NetworkManager, whose own errors are passed on; each raises BusError,
    BusClosed, TimeoutError."""

    TIMEOUT_S = 12.0
    """The helper waits for NetworkManager for 10 s."""

    async def activate(
        self,
        request: JoinRequest,
        key_management: KeyManagement,
        bssid: str,
        device: str,
        uuid: str,
        remaining_s: float,
    ) -> tuple[str, str]:
        """Activate the profile of an attempt; returns the object paths of the profile and of the active
        connection."""
        arguments = profile_arguments(
            request, key_management, bssid, device, uuid, remaining_s, self.TIMEOUT_S
        )
        return typed(tuple[str, str], await self.carry_out(calls.ACTIVATE_PROFILE, *arguments))

    async def deactivate(self, active_connection: str) -> None:
        """Deactivate an active connection."""
        await self.carry_out(calls.DEACTIVATE_PROFILE, active_connection)

    async def delete(self, profile: str) -> None:
        """Delete a profile."""
        await self.carry_out(calls.DELETE_PROFILE, profile)

    async def set_managed(self, interface: str, value: bool) -> None:
        """Set whether NetworkManager manages an adapter."""
        await self.carry_out(calls.SET_MANAGED, interface, value)

    async def set_autoconnect(self, interface: str, value: bool) -> None:
        """Set whether NetworkManager may activate profiles on an adapter automatically."""
        await self.carry_out(calls.SET_AUTOCONNECT, interface, value)


def profile_arguments(
    request: JoinRequest,
    key_management: KeyManagement,
    bssid: str,
    device: str,
    uuid: str,
    remaining_s: float,
    patience_s: float,
) -> calls.ProfileArguments:
    """As the call `ActivateProfile` takes them; DHCP does not end before the attempt, and nothing begins when
    the caller no longer waits."""
    return (
        *network_arguments(request, key_management, bssid),
        device,
        uuid,
        max(1, math.ceil(remaining_s)),
        request.local_address,
        time.monotonic_ns() // 1000 + int(patience_s * 1e6),
    )


class HelperLinks(Helper):
    """The helper's methods for the addresses of links; each raises BusError, BusClosed, TimeoutError."""

    TIMEOUT_S = 40.0
    """The helper may have to start networkd, and waits for it and for what it answers."""

    async def configure_link(self, interface: str, local_address: str) -> None:
        """Have the interface take `local_address`, with its prefix such as `192.168.54.2/24`, once it has a
        carrier; or an address by DHCP, if that is empty."""
        await self.carry_out(calls.CONFIGURE_LINK, interface, local_address)

    async def request_lease(self, interface: str) -> None:
        """Have the interface, which is associated, request its address by DHCP from the beginning, unless
        networkd has a lease."""
        await self.carry_out(calls.REQUEST_LEASE, interface)

    async def release_link(self, interface: str) -> None:
        """Have the interface lose that address; it may be gone."""
        await self.carry_out(calls.RELEASE_LINK, interface)

    @staticmethod
    def are_configured() -> bool:
        """Whether the helper has had networkd take addresses, for this daemon or an earlier one."""
        return (SETTINGS_FOLDER / SETTINGS_FILE).exists()

    async def clear(self) -> None:
        """Have networkd take no more addresses; the cameras' routes and rules end, too."""
        await self.carry_out(calls.CLEAR)


class HelperWireless(Helper):
    """The helper's methods for wireless interfaces; each raises BusError, BusClosed, TimeoutError."""

    TIMEOUT_S = 10.0

    async def restart_link(self, interface: str) -> None:
        """Take the link down and up."""
        await self.carry_out(calls.RESTART_LINK, interface)

    async def end_power_save(self, interface: str) -> bool:
        """Switch power save off; returns whether it was on."""
        return typed(tuple[bool], await self.carry_out(calls.END_POWER_SAVE, interface))[0]
