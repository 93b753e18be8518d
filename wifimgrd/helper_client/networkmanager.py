"""What the helper does in NetworkManager for the daemon."""

from __future__ import annotations

import math
import time

from wifimgrd.bus.values import typed
from wifimgrd.helper.names import ProfileArguments
from wifimgrd.helper_client.helper import Helper
from wifimgrd.helper_client.supplicant import network_arguments
from wifimgrd.ports import JoinRequest
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement


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
        return typed(tuple[str, str], await self.call("ActivateProfile", "staysssbosust", arguments))

    async def deactivate(self, active_connection: str) -> None:
        """Deactivate an active connection."""
        await self.call("DeactivateProfile", "o", [active_connection])

    async def delete(self, profile: str) -> None:
        """Delete a profile."""
        await self.call("DeleteProfile", "o", [profile])

    async def set_managed(self, interface: str, value: bool) -> None:
        """Set whether NetworkManager manages an adapter."""
        await self.call("SetManaged", "sb", [interface, value])

    async def set_autoconnect(self, interface: str, value: bool) -> None:
        """Set whether NetworkManager may activate profiles on an adapter automatically."""
        await self.call("SetAutoconnect", "sb", [interface, value])


def profile_arguments(
    request: JoinRequest,
    key_management: KeyManagement,
    bssid: str,
    device: str,
    uuid: str,
    remaining_s: float,
    patience_s: float,
) -> ProfileArguments:
    """As the call `ActivateProfile` takes them; DHCP does not end before the attempt, and nothing begins when
    the caller no longer waits."""
    return ProfileArguments(
        *network_arguments(request, key_management, bssid),
        device,
        uuid,
        max(1, math.ceil(remaining_s)),
        request.local_address,
        time.monotonic_ns() // 1000 + int(patience_s * 1e6),
    )
