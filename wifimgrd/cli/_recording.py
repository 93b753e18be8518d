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
from wifimgrd.domain.records import DeviceRecord, ResultRecord

_NONE_TO_RECORD: Final = "No camera that can be commanded is connected, so none records."
_NONE_TO_STOP: Final = "No camera that can be commanded is connected."


async def record(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Start or stop recording; False unless every camera does what was wanted. Raises DeviceNotFound and
    InvalidRequest for an argument that names no device, before any camera is commanded."""
    on = arguments.command == RECORD
    device_ids = named(hub.devices, arguments.devices)
    screen.progress("Waiting for the cameras ...")
    try:
        results = await hub.record(device_ids, on=on, everyone=arguments.all)
    finally:
        screen.progress("")
    lines = [result_line(one, hub.devices, screen, on=on) for one in results]
    screen.show({"results": list(map(ResultJson.of, results))}, lines)
    return conclude(results, screen, on=on)


def named(devices: Mapping[int, DeviceRecord], wanted: Iterable[str], where: str = "") -> list[int]:
    """The ids of the devices that arguments name, each once; raises DeviceNotFound, InvalidRequest."""
    return list(dict.fromkeys(find_device(devices, one, where).id for one in wanted))


def result_line(
    result: ResultRecord, devices: Mapping[int, DeviceRecord], screen: Screen, *, on: bool, where: str = ""
) -> str:
    """What a command has done at one camera, as a sentence; `where` is what it begins with."""
    device = devices.get(result.device_id)
    subject = where + (f"device {result.device_id}" if device is None else title(device))
    if result.done:
        what = "is recording" if on else "is not recording"
        after = "already" if result.after is None else f"after {round(result.after / 1000)} ms"
        return f"{subject} {screen.styled(what, Style.GOOD)}, {after}"
    why = f"{result.message} ({result.code})" if result.message else str(result.code)
    what = "was not started" if on else "was not stopped"
    return f"{subject} {screen.styled(what, Style.BAD)}: {safe(why)}"


def conclude(results: Sequence[ResultRecord], screen: Screen, *, on: bool) -> bool:
    """Whether every camera does what was wanted; a note of how many if there are several, or none."""
    if len(results) != 1:
        screen.hint(summary_of(results, on=on))
    return all(one.done for one in results) if results else not on


def summary_of(results: Sequence[ResultRecord], *, on: bool) -> str:
    """How many cameras do what was wanted."""
    if not results:
        return _NONE_TO_RECORD if on else _NONE_TO_STOP
    done = sum(one.done for one in results)
    return f"{done} of {len(results)} cameras {'are recording' if on else 'have stopped'}"
