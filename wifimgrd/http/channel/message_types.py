"""The types of the messages of the management channel, and a message as it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Final, NotRequired, TypedDict

from wifimgrd.client import channel_messages
from wifimgrd.client.json_members import DeviceJson, InterfaceJson, ServiceJson
from wifimgrd.client.json_types import Keywords
from wifimgrd.domain.commands import DEVICE_COMMANDS, DeviceCommand
from wifimgrd.domain.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """A message as every client receives it."""

    type: str
    text: str
    """The whole message as JSON."""
    mark: str | None = None
    """EPOCH:SEQ, the mark from which a client can continue; None if the message has no number."""


class TilesetUpdatedJson(TypedDict):
    """A tileset's file appeared, changed or disappeared."""

    tileset: str
    available: bool
    version: Annotated[str, "Differs if the content differs."] | None


class SnapshotJson(TypedDict):
    """The present state; the events after it are the changes to it."""

    type: Annotated[str, Keywords(const="snapshot")]
    epoch: Annotated[str, "Identifies one run of the service."]
    seq: Annotated[int, "The number of the last event before the snapshot.", Keywords(minimum=0)]
    service: ServiceJson
    devices: list[DeviceJson]
    interfaces: list[InterfaceJson]


COMMANDS: Final[Mapping[str, DeviceCommand]] = MappingProxyType(
    {
        command.message_type or f"command.device.device_connection.{name}": command
        for name, command in DEVICE_COMMANDS.items()
    }
)
"""The commands of clients, by the types of their messages."""
COMMAND_FAILED: Final = "command.failed"
ACTION_FAILED: Final = "observation.device.action.failed"
_COMMANDS: Final = list(COMMANDS)


class CommandFailedJson(TypedDict):
    """A command of this client was refused; only this client gets the message."""

    type: Annotated[str, Keywords(const=COMMAND_FAILED)]
    command: Annotated[str, Keywords(enum=_COMMANDS)]
    device_connection_id: Annotated[int | float | str | None, "As it was sent, if it can be an id."]
    group: NotRequired[Annotated[str, "The group that it was sent for."]]
    code: Annotated[str, Keywords(enum=sorted(one.value for one in ErrorCode))]
    message: Annotated[str, "The reason as a sentence for people."]


class ActionFailedDataJson(TypedDict):
    """Why a command was refused."""

    message: Annotated[str, "A sentence for people."]


class ActionFailedJson(TypedDict):
    """A command of this client was refused, in the words of the platform's frontend; only this client gets
    the message."""

    type: Annotated[str, Keywords(const=ACTION_FAILED)]
    data: ActionFailedDataJson


DATA: Final[Mapping[str, type]] = MappingProxyType(
    {**channel_messages.DATA, "tileset.updated": TilesetUpdatedJson}
)
"""Every type of event, with the type of its data."""
