"""`wifimgrctl record` and `stop`: recording on one camera or on many, each with a result of its own."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from wifimgrd.cli._arguments import RECORD
from wifimgrd.cli._finding import find_device
from wifimgrd.cli._outcome import title
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import Style, safe
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import ResultJson
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.records import DeviceRecord, ResultRecord
from wifimgrd.domain.rig import Everyone
from wifimgrd.domain.sentences import recorded_on_many

_NONE_TO_RECORD: Final = "There is no camera to command, so none records."
_NONE_TO_STOP: Final = "There is no camera to command."


async def record(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Start or stop recording; False unless every camera does what was wanted. Raises DeviceNotFound and
    InvalidRequest for an argument that names no device, before any camera is commanded."""
    on = arguments.command == RECORD
    device_ids = named(hub.devices, arguments.devices)
    screen.progress("Waiting for the cameras ...")
    try:
        everyone = Everyone.of(everyone=arguments.all, connected=arguments.connected)
        results = await hub.record(device_ids, on=on, everyone=everyone)
    finally:
        screen.progress("")
    lines = [result_line(one, hub.devices, screen, on=on) for one in results]
    screen.show({"results": list(map(ResultJson.of, results))}, lines)
    return conclude(with_names(results, hub.devices), screen, on=on, everyone=arguments.all)


def named(devices: Mapping[int, DeviceRecord], wanted: Iterable[str]) -> list[int]:
    """The ids of the devices that arguments name, each once; raises DeviceNotFound, InvalidRequest."""
    return list(dict.fromkeys(find_device(devices, one).id for one in wanted))


def result_line(
    result: ResultRecord, devices: Mapping[int, DeviceRecord], screen: Screen, *, on: bool
) -> str:
    """The result of a command at one camera, as a sentence."""
    device = devices.get(result.device_id)
    subject = f"camera {result.device_id}" if device is None else title(device)
    if result.done:
        what = "is recording" if on else "is not recording"
        after = "already" if result.after is None else f"after {round(result.after / 1000)} ms"
        return f"{subject} {screen.styled(what, Style.GOOD)}, {after}"
    why = f"{result.message} ({result.code})" if result.message else str(result.code)
    if result.code == ErrorCode.UNCONFIRMED:
        what = "may be recording" if on else "may have stopped"
    else:
        what = "was not started" if on else "was not stopped"
    return f"{subject} {screen.styled(what, Style.BAD)}: {safe(why)}"


Named = Sequence[tuple[str, ResultRecord]]
"""The results of a command, each with the name of its camera."""


def with_names(results: Iterable[ResultRecord], devices: Mapping[int, DeviceRecord]) -> Named:
    """The results with the names of the cameras."""
    names = {one: device.name for one, device in devices.items()}
    return [(names.get(one.device_id, f"camera {one.device_id}"), one) for one in results]


def conclude(results: Named, screen: Screen, *, on: bool, everyone: bool) -> bool:
    """Whether every camera does what was wanted; a summary if there are several, or none, or `everyone` was
    meant."""
    if everyone or len(results) != 1:
        for line in summary_of(results, on=on):
            screen.hint(line)
    return all(one.done for _, one in results) if results else not on


def summary_of(results: Named, *, on: bool) -> list[str]:
    """How many cameras do what was wanted, and which could not be told, or may do it."""
    if not results:
        return [_NONE_TO_RECORD if on else _NONE_TO_STOP]
    return [safe(line) for line in recorded_on_many([(name, one.code) for name, one in results], on=on)]
