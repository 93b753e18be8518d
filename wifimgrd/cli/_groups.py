"""`wifimgrctl groups` and `connect --group`: devices that one command connects."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Final

from wifimgrd.cli._outcome import summary, title
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Column
from wifimgrd.cli._text import safe
from wifimgrd.client.commands import GroupOrder
from wifimgrd.client.commands import connect_group as carry_out
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import OutcomeJson
from wifimgrd.client.json_records import groups_json
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.domain.records import DeviceRecord, OutcomeRecord

_NONE: Final = "The configuration has no groups: see [[connect.group]] in wifimgrd.toml(5)."
_COLUMNS: Final = (Column("GROUP"), Column("CAMERAS", least=12))


async def groups(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """List groups."""
    del arguments
    service = hub.service
    if not service.groups:
        screen.hint(_NONE)
    rows = [
        (name, members(ids, hub.devices, service.missing_members.get(name, ())))
        for name, ids in service.groups.items()
    ]
    screen.show(groups_json(service), screen.table(_COLUMNS, rows) if rows else [])
    return True


def members(ids: Iterable[int], devices: Mapping[int, DeviceRecord], missing: Iterable[str] = ()) -> str:
    """The names of a group's devices, on one line, and what it names that is none."""
    named = (devices[one].name if one in devices else f"camera {one}" for one in ids)
    return ", ".join((*named, *(f"{one} (no such camera)" for one in missing)))


async def connect_group(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Connect the devices of a group; False unless all are connected then."""
    order = GroupOrder(arguments.group, arguments.partial)
    screen.progress("Waiting for the cameras ...")
    try:
        outcomes = await carry_out(hub, order)
    except WifimgrdError as error:
        screen.progress("")
        screen.fail_with(error)
        if error.code is ErrorCode.NO_INTERFACE_AVAILABLE:
            screen.hint("Nothing was changed. Connect as many as possible: add --partial")
        return False
    finally:
        screen.progress("")
    screen.show(
        {"results": list(map(OutcomeJson.of, outcomes))}, [_line(one, hub.devices) for one in outcomes]
    )
    if not outcomes:
        screen.hint("No camera of this group is registered.")
    return all(one.done for one in outcomes)


def _line(outcome: OutcomeRecord, devices: Mapping[int, DeviceRecord]) -> str:
    """The outcome of the command at one device, as a sentence."""
    device = devices.get(outcome.device_id)
    if outcome.done and device is not None:
        return summary(device)
    subject = f"camera {outcome.device_id}" if device is None else title(device)
    if outcome.done:
        return f"{subject} is connected"
    return safe(f"{subject} is not connected: {outcome.message} ({outcome.code})")
