"""`wifimgrctl import` and `export`: many cameras at once, from files and to one."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wifimgrd.cli._adding import first_connection
from wifimgrd.cli._camera_csv import camera_table
from wifimgrd.cli._camera_files import entries_at, write_new
from wifimgrd.cli._entries import Entry
from wifimgrd.cli._models import known_models
from wifimgrd.cli._registering_arguments import DEFAULT_CODENAME
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Cell, Column, Row
from wifimgrd.cli._text import Style, safe
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera_model import CameraModels, closest_codename, guess_model
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import InvalidRequest, WifimgrdError
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.domain.sentences import unknown_model

_MOST_CAMERAS: Final = 500
_HEADS: Final = (
    Column("NAME", least=12),
    Column("NETWORK", rank=3),
    Column("MODEL", rank=2),
    Column("PASSWORD", rank=4),
    Column("RESULT"),
    Column("FROM", rank=5),
    Column("REASON", rank=1, is_optional=True, goes_below=True),
)
_STDOUT: Final = Path("-")
_NEW: Final = "new"
_REGISTERED: Final = "registered"
_KNOWN: Final = "already registered"
_FAILED: Final = "not registered"
_STYLES: Final = {_NEW: Style.PLAIN, _REGISTERED: Style.GOOD, _KNOWN: Style.FAINT, _FAILED: Style.BAD}


@dataclass(frozen=True, slots=True)
class _Planned:
    """An entry, and the result that is planned for it or that it had."""

    entry: Entry
    codename: str
    result: str
    reason: str = ""
    device_id: int | None = None


async def import_cameras(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Register the cameras of files; False unless each of them is registered then.

    Raises InvalidRequest for what is not such a file, NotAuthorized for one that this user may not read.
    """
    entries = [one for path in arguments.files for one in entries_at(path, screen)]
    if arguments.match is not None:
        entries = [
            one for one in entries if not one.ssid or fnmatch.fnmatchcase(one.network, arguments.match)
        ]
    if len(entries) > _MOST_CAMERAS:
        raise InvalidRequest(f"{len(entries)} cameras are more than the {_MOST_CAMERAS} of one import")
    plan = _planned(entries, hub.devices)
    if not arguments.dry_run:
        plan = [await _carried_out(hub, one, arguments) for one in _shown(plan, screen)]
    screen.show([_json(one) for one in plan], _view(plan, screen) if plan else [])
    return _conclude(plan, screen, is_dry=arguments.dry_run)


async def export_cameras(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Write the cameras as import reads them, without passwords."""
    text = camera_table(hub.devices.values())
    if arguments.file in (None, _STDOUT):
        screen.show({"csv": text}, text.splitlines(), as_is=True)
        return True
    write_new(arguments.file, text)
    count = len(hub.devices)
    cameras = "1 camera is" if count == 1 else f"{count} cameras are"
    screen.show({"file": str(arguments.file), "devices": count}, [f"{cameras} in {safe(arguments.file)}."])
    return True


# -- what is done


def _planned(entries: Iterable[Entry], devices: Mapping[int, DeviceRecord]) -> list[_Planned]:
    """The planned result of each entry, before anything is done."""
    models = known_models()
    known = {(device.ssid, device.name): device for device in devices.values()}
    by_network = {device.ssid: device for device in devices.values()}
    by_name = {device.name: device for device in devices.values()}
    seen: dict[tuple[bytes, str], str] = {}
    named: dict[str, str] = {}
    plan = []
    for entry in entries:
        codename = str(
            entry.settings.get("codename")
            or guess_model(models.values(), Ssid(entry.ssid).text, ())
            or DEFAULT_CODENAME
        )
        name = str(entry.settings.get("name", ""))
        identity = (entry.ssid, name if entry.is_told_by_name else "")
        same = known.get((entry.ssid, name)) if entry.is_told_by_name else by_network.get(entry.ssid)
        if entry.problem:
            # A camera that is there needs no password, as one of an export has none.
            result, reason = (
                (_KNOWN, "") if same is not None and entry.password is None else (_FAILED, entry.problem)
            )
        elif same is not None:
            result, reason = _KNOWN, "" if same.name == entry.title else f"as {same.name}"
        elif identity in seen:
            result, reason = _FAILED, f"the same is in {seen[identity]}"
        elif name and name in by_name:
            result, reason = (
                _FAILED,
                f"the name is taken by camera {by_name[name].id}, which has another network",
            )
        elif name and name in named:
            result, reason = _FAILED, f"the name is that of {named[name]}, which has another network"
        else:
            result, reason = _NEW, _note(entry, codename, models, by_network.get(entry.ssid))
            seen[identity] = entry.where
            named[name] = entry.where
        plan.append(_Planned(entry, codename, result, reason, same.id if same else None))
    return plan


def _note(entry: Entry, codename: str, models: CameraModels, other: DeviceRecord | None) -> str:
    """A note on an entry that is rarely meant so, and is taken as it stands; `other` is a registered camera
    of the same network."""
    if models and codename not in models:
        return unknown_model(codename, closest_codename(codename, models))
    if other is not None:
        return f"its network is also registered as {other.name}"
    return "blanks at the ends of its network belong to it" if entry.ssid != entry.ssid.strip(b" ") else ""


def _shown(plan: list[_Planned], screen: Screen) -> Iterator[_Planned]:
    try:
        for number, one in enumerate(plan, 1):
            screen.progress(f"Registering {number} of {len(plan)}: {safe(one.entry.title)}")
            yield one
    finally:
        screen.progress("")


async def _carried_out(hub: HubClient, one: _Planned, arguments: argparse.Namespace) -> _Planned:
    if one.result != _NEW:
        return one
    wanted = {**one.entry.request(one.codename), **first_connection(arguments)}
    try:
        device_id = await hub.create_device(wanted)
    except WifimgrdError as error:
        return _Planned(one.entry, one.codename, _FAILED, error.message)
    return _Planned(one.entry, one.codename, _REGISTERED, one.reason, device_id)


def _view(plan: Iterable[_Planned], screen: Screen) -> list[str]:
    rows: list[Row] = [
        (
            one.entry.title or None,
            one.entry.network or None,
            one.codename if one.entry.ssid else None,
            _password_word(one.entry),
            Cell(_result(one), _STYLES[one.result]),
            one.entry.where,
            one.reason,
        )
        for one in plan
    ]
    return screen.table(_HEADS, rows)


def _result(one: _Planned) -> str:
    return f"{one.result} ({one.device_id})" if one.device_id is not None else one.result


def _password_word(entry: Entry) -> str | None:
    """Whether there is a password, never which."""
    if entry.password is None:
        return None
    return "yes" if entry.password.reveal() else "open"


def _json(one: _Planned) -> dict[str, object]:
    entry = one.entry
    return {
        "from": entry.where,
        "name": entry.title,
        "ssid": entry.network,
        "codename": one.codename,
        "result": one.result.replace(" ", "-"),
        "id": one.device_id,
        "message": one.reason or None,
    }


def _conclude(plan: list[_Planned], screen: Screen, *, is_dry: bool) -> bool:
    """Say how many; False if one is not registered, or could not be."""
    counts = {result: sum(one.result == result for one in plan) for result in _STYLES}
    words = [
        f"{count} {'would be registered' if result == _NEW else result}" for result, count in counts.items()
    ]
    told = [text for text, count in zip(words, counts.values(), strict=True) if count]
    screen.hint(f"{', '.join(told)}." if told else "There is no camera in it.")
    if is_dry and counts[_NEW]:
        screen.hint("Nothing has been changed. Without --dry-run they are registered.")
    return bool(plan) and not counts[_FAILED]
