"""`wifimgrctl adapter check`: whether an adapter does all that the hub needs of it."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

from wifimgrd.cli._diagnose import output
from wifimgrd.cli._finding import find_device, meant
from wifimgrd.cli._models import known_models
from wifimgrd.cli._outcome import title
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Cell, Column
from wifimgrd.cli._text import Style
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera_model import GENERIC, CameraModel
from wifimgrd.domain.commands import CONNECT, DISCONNECT, WHEN_FREE
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import Busy, InterfaceNotFound, InvalidRequest, NotSupported, WifimgrdError
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.records import DeviceRecord, InterfaceRecord, NetworkRecord
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.domain.time_limits import LEAVE_S
from wifimgrd.report.sections import system

_LINK: Final = ("join", "traffic", "signal", "power save")
_STEPS: Final = (RecoveryStep.RESCAN, RecoveryStep.RESTART, RecoveryStep.REPLUG)
_CONNECT_S: Final = 60.0
_LEAVE_S: Final = 2 * LEAVE_S
_ANSWER_S: Final = 5.0
_PAUSE_S: Final = 0.2
_RETURN_S: Final = 30.0
_USB_DEVICES: Final = Path("/sys/bus/usb/devices")
_HEADS: Final = (Column("CHECK"), Column("RESULT"), Column("WHAT WAS SEEN", least=12))


class _Result(StrEnum):
    """The result of one check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_TRIED = "not tried"


_STYLES: Final = {
    _Result.PASSED: Style.GOOD,
    _Result.FAILED: Style.BAD,
    _Result.NOT_TRIED: Style.FAINT,
}


class _Failed(Exception):
    """A check has failed, or could not be tried."""

    def __init__(self, seen: str, result: _Result = _Result.FAILED) -> None:
        self.result = result
        super().__init__(seen)


@dataclass(eq=False)
class _Check:
    """The adapter that is checked, and the results so far."""

    hub: HubClient
    adapter: InterfaceRecord
    screen: Screen
    rows: list[tuple[str, _Result, str]] = field(default_factory=list)

    def not_tried(self, why: str, *names: str) -> None:
        """These checks were not tried."""
        self.rows += [(name, _Result.NOT_TRIED, why) for name in names]

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[list[str]]:
        """One check: it has passed unless its body raises, and yields a list for what was seen."""
        seen: list[str] = []
        self.screen.progress(f"{self.adapter.name}: {name} ...")
        try:
            yield seen
        except _Failed as failed:
            self.rows.append((name, failed.result, str(failed)))
        except (NotSupported, InvalidRequest) as error:
            self.rows.append((name, _Result.NOT_TRIED, error.message))
        except WifimgrdError as error:
            self.rows.append((name, _Result.FAILED, f"{error.message} ({error.code})"))
        except TimeoutError:
            self.rows.append((name, _Result.FAILED, "it took too long"))
        else:
            self.rows.append((name, _Result.PASSED, ", ".join(seen)))
        finally:
            self.screen.progress("")


async def adapter(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Check an idle adapter, in some two minutes; False if a check has failed.

    Raises InterfaceNotFound, Busy, DeviceNotFound.
    """
    found = hub.interfaces.get(arguments.interface)
    if found is None:
        hint = meant(arguments.interface, hub.interfaces)
        raise InterfaceNotFound(f'there is no adapter "{arguments.interface}"{hint}')
    if found.state != InterfaceState.AVAILABLE:
        raise Busy(f"{found.name} is {found.state}: only an adapter that is idle is checked")
    wanted = None if arguments.device is None else find_device(hub.devices, arguments.device)
    if wanted is not None and wanted.state != DeviceState.DISCONNECTED:
        raise Busy(
            f"{title(wanted)} is {wanted.state}: only a camera that is not connected is joined for a check"
        )
    check = _Check(hub, found, screen)
    networks = await _scan(check)
    device = wanted or _camera_on_air(hub, networks)
    await _link(check, device, arguments.seconds)
    for step in _STEPS:
        await _recover(check, step)
    await _switch_power(check)
    _show(check, screen)
    return all(result is not _Result.FAILED for _, result, _ in check.rows)


async def _received(check: _Check) -> list[NetworkRecord]:
    """The networks that the adapter receives by a scan."""
    report = await check.hub.search_networks(check.adapter.name)
    found = [one for one in report.networks if check.adapter.name in one.interfaces]
    if not found:
        raise _Failed(report.skipped.get(check.adapter.name) or "it received no network")
    return found


async def _scan(check: _Check) -> list[NetworkRecord]:
    networks: list[NetworkRecord] = []
    async with check.of("scan") as seen:
        networks = await _received(check)
        bands = sorted({band for one in networks for band in one.bands})
        seen.append(f"{len(networks)} networks on {' and '.join(bands)}")
    return networks


def _camera_on_air(hub: HubClient, networks: Sequence[NetworkRecord]) -> DeviceRecord | None:
    """The registered camera that was received best and that is not connected."""
    received = {one.ssid: one.signal_strength or 0 for one in networks}
    free = [
        one for one in hub.devices.values() if one.state == DeviceState.DISCONNECTED and one.ssid in received
    ]
    return max(free, key=lambda one: received[one.ssid], default=None)


async def _link(check: _Check, device: DeviceRecord | None, seconds: float) -> None:
    """Join a camera, exchange data with it, and leave it; afterwards it is wanted, or not, as before."""
    if device is None:
        check.not_tried("no registered camera that is on and not connected was received", *_LINK, "leave")
        return
    hub, was_expected, has_left = check.hub, device.expected, False
    try:
        async with check.of("join") as seen:
            await hub.command_device(CONNECT, device.id, wait_s=_CONNECT_S)
            seen.append(title(device))
        if hub.devices[device.id].interface == check.adapter.name:
            await _traffic(check, device, seconds)
            await _radio(check, device)
            async with check.of("leave"):
                await hub.command_device(DISCONNECT, device.id, wait_s=_LEAVE_S)
                has_left = True
        else:
            through = hub.devices[device.id].interface
            if through is not None:
                check.rows.pop()
                why = f"the hub chose {through}: reserve {check.adapter.name} for {title(device)} meanwhile"
                check.not_tried(why, "join")
            check.not_tried("no camera was joined", *_LINK[1:], "leave")
    finally:
        with suppress(WifimgrdError, TimeoutError):
            if not has_left:
                await hub.command_device(DISCONNECT, device.id, wait_s=_LEAVE_S)
            if was_expected:
                await hub.command_device(CONNECT, device.id, {WHEN_FREE: True})


async def _traffic(check: _Check, device: DeviceRecord, seconds: float) -> None:
    """Ask the camera again and again, as the hub's own probe does."""
    model = known_models().get(device.codename or "", GENERIC)
    async with check.of("traffic") as seen:
        loop, answers, lost, longest_s = asyncio.get_running_loop(), 0, 0, 0.0
        end_s = loop.time() + seconds
        while loop.time() < end_s:
            began_s = loop.time()
            try:
                await _ask(check.hub, device, model)
                answers += 1
                longest_s = max(longest_s, loop.time() - began_s)
            except (WifimgrdError, OSError):
                lost += 1
            await asyncio.sleep(_PAUSE_S)
        said = f"{answers} of {answers + lost} requests answered, the slowest after {longest_s:.2f} s"
        if lost or not answers:
            raise _Failed(said)
        seen.append(said)


async def _ask(hub: HubClient, device: DeviceRecord, model: CameraModel) -> None:
    """One request to a camera: its probe, or a connection where that has no path."""
    async with asyncio.timeout(_ANSWER_S):
        opened = await hub.open_connection(device.id, model.probe.port)
        with opened:
            if model.probe.path:
                loop = asyncio.get_running_loop()
                request = f"GET {model.probe.path} HTTP/1.1\r\nHost: camera\r\nConnection: close\r\n\r\n"
                await loop.sock_sendall(opened, request.encode())
                if not await loop.sock_recv(opened, 1):
                    raise OSError("no answer")


async def _radio(check: _Check, device: DeviceRecord) -> None:
    async with check.of("signal") as seen:
        signal = check.hub.devices[device.id].signal_strength
        if signal is None:
            raise _Failed("it does not tell the camera's signal")
        seen.append(f"{signal} %")
    async with check.of("power save") as seen:
        tool = shutil.which("iw") or shutil.which("/usr/sbin/iw")
        if tool is None or check.hub.service.backend == "simulated":
            raise _Failed("iw is not installed, or the adapter is simulated", _Result.NOT_TRIED)
        said = await output((tool, "dev", check.adapter.name, "get", "power_save"))
        if "off" not in said:
            raise _Failed(said.strip() or "iw says nothing")
        seen.append("off")


async def _switch_power(check: _Check) -> None:
    """Switch the power of the adapter's USB port, if the configuration names it, and while its hub's other
    ports are idle: if the adapter does not come back, only a reset of the whole hub may help."""
    port = check.adapter.usb_port
    if port and (beside := _in_use_beside(check.hub, port)):
        why = f"in use, or not known to be idle, at the same hub: {', '.join(beside)}"
        check.not_tried(why, LinkStep.POWER_PORT)
    else:
        await _recover(check, LinkStep.POWER_PORT)


def _in_use_beside(hub: HubClient, port: str) -> list[str]:
    """The other ports of a port's hub, of a USB 3 hub those of both halves, that hold something other than an
    idle adapter."""
    is_used: dict[str, bool] = {}
    for one in hub.interfaces.values():
        if one.usb_port:
            is_idle = one.state == InterfaceState.AVAILABLE
            is_used[one.usb_port] = is_used.get(one.usb_port, False) or not is_idle
    halves = [port]
    if hub.service.backend != "simulated":
        for device in _USB_DEVICES.glob("*-*"):
            is_used.setdefault(device.name, True)
        with suppress(OSError):
            at, _, number = (_USB_DEVICES / port / "port" / "peer").readlink().name.rpartition("-port")
            halves.append(f"{at[3:]}-{number}" if at.startswith("usb") else f"{at}.{number}")
    hubs = "|".join(re.escape(one[: max(one.find("-"), one.rfind(".")) + 1]) for one in halves)
    beside = re.compile(f"(?:{hubs})[0-9]+")
    return sorted(one for one in is_used if is_used[one] and one not in halves and beside.fullmatch(one))


async def _recover(check: _Check, step: RecoveryStep | Literal[LinkStep.POWER_PORT]) -> None:
    """Carry a recovery step out, and scan after it."""
    async with check.of(step.value) as seen:
        name, port = check.adapter.name, check.adapter.usb_port
        if check.hub.interfaces.get(name, check.adapter).state != InterfaceState.AVAILABLE:
            raise _Failed("the adapter is no longer idle", _Result.NOT_TRIED)
        began_s = time.monotonic()
        await check.hub.recover_interface(name, step.value)
        try:
            await check.hub.wait_until(lambda hub: _returned(hub, name, port) is not None, _RETURN_S)
        except TimeoutError:
            raise _Failed("the adapter has not come back") from None
        check.adapter = _returned(check.hub, name, port) or check.adapter
        seen.append(f"{time.monotonic() - began_s:.1f} s")
        await _received(check)


def _returned(hub: HubClient, name: str, port: str | None) -> InterfaceRecord | None:
    """The adapter, which may have another name after it was replugged, once it is idle."""
    for one in hub.interfaces.values():
        is_it = one.usb_port == port if port else one.name == name
        if is_it and one.state == InterfaceState.AVAILABLE:
            return one
    return None


def _show(check: _Check, screen: Screen) -> None:
    adapter = check.adapter
    usb = ":".join(filter(None, (adapter.usb_vendor_id, adapter.usb_product_id)))
    line = "; ".join(
        (
            " ".join(filter(None, ("USB", usb, adapter.usb_product))) if usb else adapter.name,
            f"driver {adapter.driver or 'unknown'}",
            f"{system()}, Linux {os.uname().release}",
            ", ".join(f"{name} {result}" for name, result, _ in check.rows),
        )
    )
    value = {
        "interface": adapter.name,
        "checks": [{"check": name, "result": result, "seen": seen} for name, result, seen in check.rows],
        "report": line,
    }
    cells = [(name, Cell(result.value, _STYLES[result]), seen) for name, result, seen in check.rows]
    screen.show(value, screen.table(_HEADS, cells))
    screen.hint("For a report about this adapter:")
    screen.hint(line)
