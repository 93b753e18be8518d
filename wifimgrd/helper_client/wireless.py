"""Wireless settings that the helper changes for the daemon."""

from __future__ import annotations

from wifimgrd.helper_client.helper import Helper


class HelperWireless(Helper):
    """The helper's methods for wireless interfaces; each raises BusError, BusClosed, TimeoutError."""

    TIMEOUT_S = 10.0

    async def restart_link(self, interface: str) -> None:
        """Take the link down and up."""
        await self.call("RestartLink", "s", [interface])

    async def end_power_save(self, interface: str) -> bool:
        """Switch power save off; returns whether it was on."""
        return await self.ask(bool, "EndPowerSave", "s", [interface])
