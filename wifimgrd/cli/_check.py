"""`wifimgrctl check`: whether the rig is ready, in one sentence and by the exit status."""

from __future__ import annotations

import argparse
from dataclasses import replace

from wifimgrd.cli._recording import named
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import Style, safe
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_records import check_json
from wifimgrd.domain import sentences
from wifimgrd.domain.check import Wanted


async def check(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Say whether cameras are ready, and what stands in the way; False unless they are. Raises
    DeviceNotFound, InvalidRequest, GroupNotFound."""
    minutes, milliseconds = arguments.minutes_left, arguments.clock_ms
    wanted = Wanted(
        arguments.recording,
        arguments.battery,
        None if minutes is None else minutes * 60_000_000,
        None if milliseconds is None else milliseconds * 1000,
    )
    device_ids = named(hub.devices, arguments.devices) if arguments.devices else None
    found = await hub.check(wanted, device_ids=device_ids, group=arguments.group)
    missing = hub.service.missing_members.get(arguments.group, ())
    found = replace(found, ok=found.ok and not missing)
    names = {one: hub.devices[one].name if one in hub.devices else f"camera {one}" for one in found.checked}
    told = [(one.device_id, one.code) for one in found.findings]
    sentence = safe(sentences.readiness(names, told))
    lines = [screen.styled(sentence, Style.GOOD if found.ok else Style.BAD)]
    lines += [safe(f"  {names[one.device_id]}: {one.message} ({one.code})") for one in found.findings]
    screen.show(check_json(found), lines)
    if missing:
        screen.hint(safe(sentences.missing_in_group(arguments.group, missing)))
    return found.ok
