"""Finds the device of an argument: by its id, or by its name if only one device has it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from wifimgrd.domain.errors import DeviceNotFound, InvalidRequest
from wifimgrd.domain.records import DeviceRecord


def find_device(devices: Mapping[int, DeviceRecord], wanted: str) -> DeviceRecord:
    """The device that an argument names. An id takes precedence over a name with the same text.

    Raises DeviceNotFound, InvalidRequest if several devices have that name.
    """
    if wanted.isascii() and wanted.isdecimal() and len(wanted) < 20 and int(wanted) in devices:
        return devices[int(wanted)]
    named = [device for device in devices.values() if device.name == wanted]
    if len(named) == 1:
        return named[0]
    if named:
        ids = ", ".join(str(device.id) for device in named)
        raise InvalidRequest(f'{len(named)} cameras are named "{wanted}"; use an id instead: {ids}')
    hint = meant(wanted, [device.name for device in devices.values()])
    raise DeviceNotFound(f'there is no camera "{wanted}"{hint}')


def meant(wanted: str, known: Iterable[str]) -> str:
    """A suggestion to append to an error: similar names; empty if there are none."""
    by_plain = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(wanted.casefold(), by_plain, n=1)
    return f'; did you mean "{by_plain[near[0]]}"?' if near else ""
