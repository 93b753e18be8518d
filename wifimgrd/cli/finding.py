"""Which device is meant: by its id, or by its name where that is one device's alone."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from wifimgrd.dbus.client.records import DeviceRecord
from wifimgrd.domain.errors import DeviceNotFound, InvalidRequest


def find_device(devices: Mapping[int, DeviceRecord], wanted: str) -> DeviceRecord:
    """The device that a person means. An id goes before a name that looks like one.

    Raises DeviceNotFound, InvalidRequest where several devices have that name.
    """
    if wanted.isascii() and wanted.isdecimal() and len(wanted) < 20 and int(wanted) in devices:
        return devices[int(wanted)]
    named = [device for device in devices.values() if device.name == wanted]
    if len(named) == 1:
        return named[0]
    if named:
        ids = ", ".join(str(device.id) for device in named)
        raise InvalidRequest(f'{len(named)} devices are called "{wanted}"; say which by its id: {ids}')
    near = difflib.get_close_matches(wanted, [device.name for device in devices.values()], n=1)
    hint = f'; is it "{near[0]}" that you mean?' if near else ""
    raise DeviceNotFound(f'there is no device "{wanted}"{hint}')
