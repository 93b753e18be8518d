"""`wifimgrctl --broker ... record` and `stop`: recording on the cameras of several hubs at once."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from typing import Any, Final

from wifimgrd.cli._arguments import RECORD
from wifimgrd.cli._finding import meant
from wifimgrd.cli._outcome import TIMEOUT
from wifimgrd.cli._password import UsageError
from wifimgrd.cli._recording import conclude, named, result_line, with_names
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import Style, safe
from wifimgrd.client.json_members import ResultJson
from wifimgrd.domain.records import ResultRecord
from wifimgrd.fleet.client import FleetClient, connected
from wifimgrd.fleet.fleet import FleetHub
from wifimgrd.mqtt.access import Access

_ANSWER_S: Final = 20.0
"""How long the answer of a hub may take, which itself takes at most 15 s."""
_OFFLINE: Final = "hub-offline"
_NOT_FOUND: Final = "hub-not-found"


async def record_at_broker(
    access: Access, prefix: str, arguments: argparse.Namespace, screen: Screen
) -> bool:
    """Start or stop recording on cameras named HUB/DEVICE, or on all of all hubs; False unless every camera
    does what was wanted. Raises UsageError, DeviceNotFound, InvalidRequest, BrokerError."""
    on = arguments.command == RECORD
    wanted = _by_hub(arguments)
    only = next(iter(wanted)) if len(wanted) == 1 else None
    async with connected(access, prefix, only=only) as client:
        hubs = client.fleet.hubs
        for hub_id in wanted:
            if hub_id not in hubs:
                hint = meant(hub_id, hubs)
                screen.fail(_NOT_FOUND, f'there is no hub "{hub_id}" at this broker{hint}')
                return False
        orders: dict[str, Mapping[str, object]] = {
            hub_id: {"recording": on, "device_ids": named(hubs[hub_id].devices, names, f" at {hub_id}")}
            for hub_id, names in wanted.items()
        }
        if arguments.all:
            order = {"recording": on, "all": True, "connected": arguments.connected}
            orders = dict.fromkeys(sorted(hubs), order)
        screen.progress("Waiting for the hubs ...")
        try:
            answers = await asyncio.gather(*(_of_hub(client, hubs[one], orders[one]) for one in orders))
        finally:
            screen.progress("")
        return _show(dict(zip(orders, answers, strict=True)), hubs, screen, on=on, everyone=arguments.all)


def _by_hub(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """The devices that are named, by their hubs; raises UsageError."""
    wanted: dict[str, list[str]] = {}
    for argument in arguments.devices:
        hub_id, _, device = argument.partition("/")
        if not hub_id or not device:
            raise UsageError("with --broker a device is named HUB/DEVICE")
        wanted.setdefault(hub_id, []).append(device)
    return wanted


async def _of_hub(
    client: FleetClient, hub: FleetHub, order: Mapping[str, object]
) -> list[ResultRecord] | tuple[str, str]:
    """The results of one hub, or the code and the reason why there are none. Raises BrokerError."""
    if not hub.online:
        return _OFFLINE, "it is offline and cannot receive commands"
    try:
        answer = await client.command_everyone(hub.id, "record", order, timeout_s=_ANSWER_S)
    except TimeoutError:
        return TIMEOUT, f"it has not answered within {_ANSWER_S:g} s"
    return list(answer.results) if answer.code is None else (answer.code, answer.message)


def _show(
    answers: Mapping[str, list[ResultRecord] | tuple[str, str]],
    hubs: Mapping[str, FleetHub],
    screen: Screen,
    *,
    on: bool,
    everyone: bool,
) -> bool:
    lines: list[str] = []
    values: list[dict[str, Any]] = []
    results: list[tuple[str, ResultRecord]] = []
    has_failed = False
    for hub_id, answer in answers.items():
        if isinstance(answer, tuple):
            has_failed, (code, message) = True, answer
            lines.append(f"{safe(hub_id)} {screen.styled('failed', Style.BAD)}: {safe(message)} ({code})")
            of_hub = ResultJson(device_id=None, done=False, after_ms=None, code=code, message=message)
            values.append({"hub": hub_id, **of_hub})
            continue
        devices, where = hubs[hub_id].devices, f"{safe(hub_id)}/"
        results += with_names(answer, devices, where)
        for one in answer:
            values.append({"hub": hub_id, **ResultJson.of(one)})
            lines.append(result_line(one, devices, screen, on=on, where=where))
    screen.show({"results": values}, lines)
    if has_failed and not results:
        return False
    return conclude(results, screen, on=on, everyone=everyone) and not has_failed
