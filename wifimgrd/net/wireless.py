"""Wireless interfaces: a link down and up, power save off. Done by the helper, asked for by the daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import structlog

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusConnection
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.net import commands, iproute
from wifimgrd.net.commands import CommandError

_log = structlog.get_logger()

_INTERFACES: Final = Path("/sys/class/net")
_ANSWER_S: Final = 10.0
_ON: Final = "Power save: on"
"""https://git.kernel.org/pub/scm/linux/kernel/git/jberg/iw.git/tree/ps.c"""


def restart_link(interface: str) -> None:
    """Take a wireless interface's link down and up; raises InvalidRequest of any other, and CommandError."""
    _require_wireless(interface)
    iproute.batch([f"link set dev {interface} down", f"link set dev {interface} up"])


def end_power_save(interface: str) -> bool:
    """Switch a wireless interface's power save off, and say whether it was on.

    Raises InvalidRequest of any other interface, and CommandError where that cannot be known: the driver has
    no power save, or there is no `iw`.
    """
    _require_wireless(interface)
    if commands.run("iw", "dev", interface, "get", "power_save").strip() != _ON:
        return False
    try:
        commands.run("iw", "dev", interface, "set", "power_save", "off")
    except CommandError as error:
        _log.warning("power_save_unchanged", interface=interface, reason=str(error))
    return True


def _require_wireless(interface: str) -> None:
    is_name = interface and "/" not in interface and interface not in (".", "..")
    if not is_name or not (_INTERFACES / interface / "phy80211").exists():
        raise InvalidRequest("there is no wireless interface of that name")


class HelpersWireless:
    """Asks the helper. Each method raises BusError, BusClosed, TimeoutError."""

    def __init__(self, connection: BusConnection) -> None:
        self._connection = connection

    async def restart_link(self, interface: str) -> None:
        """Have the link taken down and up."""
        await self._ask("RestartLink", interface)

    async def end_power_save(self, interface: str) -> bool:
        """Have power save switched off; whether it was on."""
        [was_on] = await self._ask("EndPowerSave", interface)
        return bool(was_on)

    async def _ask(self, member: str, interface: str) -> list[Any]:
        return await self._connection.call(
            names.NET_BUS_NAME, names.NET_PATH, names.NET, member, "s", [interface], timeout_s=_ANSWER_S
        )
