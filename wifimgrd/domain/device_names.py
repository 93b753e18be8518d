"""Devices by the names and ids that a person has given for them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from wifimgrd.domain.records import DeviceRecord

_Id = TypeVar("_Id", bound=int)


def members_of(listed: Iterable[_Id | str], names: Mapping[_Id, str]) -> tuple[_Id, ...]:
    """The registered devices of a list in the configuration, each once, in its order; `names` are at least
    those of the devices that it refers to."""
    ids: dict[_Id | str, _Id] = {name: one for one, name in names.items()}
    ids.update((one, one) for one in names)
    return tuple(dict.fromkeys(ids[one] for one in listed if one in ids))


def unknown_of(listed: Iterable[_Id | str], names: Mapping[_Id, str]) -> tuple[_Id | str, ...]:
    """The entries of such a list that do not name a registered device."""
    known = {*names, *names.values()}
    return tuple(one for one in dict.fromkeys(listed) if one not in known)


def name_of(device_id: int, devices: Mapping[int, DeviceRecord]) -> str:
    """A device's name, or its id if it is no longer registered."""
    device = devices.get(device_id)
    return f"camera {device_id}" if device is None else device.name
