"""The one way in which HTTP, the channel, MQTT and the command line carry out a command to a device, and
learn its outcome; and a command to several cameras."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from wifimgrd.client.hub import HubClient
from wifimgrd.domain.commands import WAIT, WHEN_FREE, DeviceCommand
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import BackendUnavailable, DeviceNotFound, InvalidRequest
from wifimgrd.domain.history import LARGEST_ID
from wifimgrd.domain.records import DeviceRecord, OutcomeRecord
from wifimgrd.domain.rig import Everyone

WAITING: Final = "waiting"
DONE: Final = "done"
_OF_PIN: Final = frozenset({"mac", "usb_port"})
STARTED: Final = "started"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a command that was not refused and has not failed."""

    command: DeviceCommand
    device: DeviceRecord | None
    """The device as it is now; None where it was removed meanwhile."""
    is_done: bool
    """Whether the command has succeeded; otherwise it goes on."""
    is_waiting: bool = False
    """The device waits for an adapter."""

    @property
    def state(self) -> str:
        """The state to which it has led, or that it is in; `waiting` for an adapter; of a command that leads
        to no state `done`, or `started` while it goes on."""
        if self.is_waiting:
            return WAITING
        if self.is_done:
            return self.command.reaches or DONE
        return self.command.passes or STARTED


def available(hub: HubClient) -> HubClient:
    """The client, whose objects are current; raises BackendUnavailable while the daemon is away."""
    if not hub.available:
        raise BackendUnavailable(hub.reason or "wifimgrd is not running")
    return hub


def known_device(hub: HubClient, device_id: int) -> DeviceRecord:
    """A device as it is now; raises DeviceNotFound, and BackendUnavailable."""
    device = available(hub).devices.get(device_id)
    if device is None:
        raise DeviceNotFound.of(device_id)
    return device


def shallow(value: object) -> object:
    """A value of a registration in JSON, for D-Bus. None is a list or an object; an empty one causes the same
    error, and fits."""
    return type(value)() if isinstance(value, list | dict) else value


def registered_value(name: str, value: object) -> object:
    """A value of a registration or of a change in JSON, for D-Bus, by its name: a pin is an object, and none
    is an empty one. What is not a pin is a list, which the daemon refuses."""
    if name != "pin":
        return shallow(value)
    if value is None:
        return {}
    if not isinstance(value, dict) or not value or value.keys() - _OF_PIN:
        return []
    return {kind: shallow(text) for kind, text in value.items()}


async def carry_out(
    hub: HubClient,
    command: DeviceCommand,
    device_id: int,
    switches: Mapping[str, bool | str] = MappingProxyType({}),
    *,
    wait_s: float = 0,
    until_waiting: bool = False,
) -> Outcome:
    """Carry out a command; with `wait_s` wait so long for its outcome, with `until_waiting` no longer than
    until the device waits for an adapter. Where the time is over, the command goes on.

    Raises DeviceNotFound, BackendUnavailable, and the errors of the command: with `wait_s` also those by
    which it fails.
    """
    known_device(hub, device_id)
    has_ended = False
    try:
        await hub.command_device(command, device_id, switches, wait_s=wait_s, until_waiting=until_waiting)
        has_ended = wait_s > 0 or (command.reaches is None and WAIT not in command.options)
    except TimeoutError:
        if wait_s <= 0 or not hub.available:  # there is no reply to the call itself
            raise BackendUnavailable("wifimgrd did not answer in time") from None
    device = hub.devices.get(device_id)
    if device is None:
        return Outcome(command, None, has_ended or command.reaches is DeviceState.DISCONNECTED)
    is_waiting = (
        bool(switches.get(WHEN_FREE))
        and device.state == DeviceState.DISCONNECTED
        and device.waiting_since is not None
    )
    is_done = device.state == command.reaches or (has_ended and not is_waiting)
    return Outcome(command, device, is_done, is_waiting)


GROUP: Final = "group"
PARTIAL: Final = "partial"


@dataclass(frozen=True, slots=True)
class GroupOrder:
    """A group that is to be connected."""

    group: str
    partial: bool = False
    """As many of its devices as possible."""


def group_order(members: Mapping[str, object], what: str) -> GroupOrder:
    """Read an order in JSON: `group`, and `partial`. `what` it is, for the sentence of InvalidRequest, which
    this raises."""
    group, partial = members.get(GROUP), members.get(PARTIAL, False)
    is_more = bool(members.keys() - {GROUP, PARTIAL})
    if not isinstance(group, str) or not group or not isinstance(partial, bool) or is_more:
        sentence = 'must have "group", a name, and may have "partial", true or false, and nothing else'
        raise InvalidRequest(f"{what} {sentence}")
    return GroupOrder(group, partial)


async def connect_group(hub: HubClient, order: GroupOrder) -> list[OutcomeRecord]:
    """Connect the devices of a group; raises as HubClient.connect_group does, and BackendUnavailable."""
    try:
        return await available(hub).connect_group(order.group, partial=order.partial)
    except TimeoutError:
        raise BackendUnavailable("wifimgrd did not answer in time") from None


MOST_AT_ONCE: Final = 256
"""Devices that an order names, whose results fit into an answer over MQTT."""


@dataclass(frozen=True, slots=True)
class RecordingOrder:
    """The order to several cameras to record, or to stop."""

    on: bool
    """Start recording, or stop."""
    device_ids: tuple[int, ...] = ()
    everyone: Everyone = Everyone.NOBODY


def recording_order(members: object, what: str) -> RecordingOrder:
    """Read an order in JSON: `recording`, and either `device_ids` or `all`, with it perhaps `connected`.
    `what` it is, for the sentence of InvalidRequest, which this raises."""
    wrong = InvalidRequest(
        f'{what} must be an object with "recording", true or false, and either "device_ids", a list of at'
        f' most {MOST_AT_ONCE} ids, or "all": true, and with it "connected", true or false'
    )
    if not isinstance(members, dict) or not isinstance(members.get("recording"), bool):
        raise wrong
    everyone, ids = members.get("all", False), members.get("device_ids")
    is_list = isinstance(ids, list) and len(ids) <= MOST_AT_ONCE and all(map(_is_id, ids))
    if not isinstance(everyone, bool) or (ids is None) is not everyone or not (everyone or is_list):
        raise wrong
    connected = members.get("connected", False)
    if not isinstance(connected, bool) or (connected and not everyone):
        raise wrong
    whom = Everyone.of(everyone=everyone, connected=connected)
    return RecordingOrder(members["recording"], tuple(ids or ()), whom)


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_ID
