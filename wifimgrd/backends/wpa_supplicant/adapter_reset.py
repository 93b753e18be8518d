"""The recovery steps that wpa_supplicant carries out on an idle adapter."""

from __future__ import annotations

from typing import assert_never

from wifimgrd.backends.supplicant.backend import RestartLink
from wifimgrd.backends.wpa_supplicant.inventory import Inventory
from wifimgrd.backends.wpa_supplicant.scan import idle_interface, scan
from wifimgrd.backends.wpa_supplicant.services import Services
from wifimgrd.domain.recovery import BackendStep, RecoveryStep


async def recover(
    services: Services, inventory: Inventory, name: str, step: BackendStep, restart_link: RestartLink | None
) -> None:
    """Carry out a step; `restart_link` takes a link down and up, None where no helper may do so.

    Raises InterfaceLost, Busy, BackendUnavailable, TimeoutError. The caller limits the time.
    """
    match step:
        case RecoveryStep.RESCAN:
            async with idle_interface(services, inventory, name) as (_, supplicant):
                await supplicant.forget()
            await scan(services, inventory, name)
        case RecoveryStep.RESTART:
            async with idle_interface(services, inventory, name):
                await services.close_interface(name)
                if restart_link is not None:
                    await restart_link(name)
        case _:
            assert_never(step)
