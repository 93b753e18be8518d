"""What is told on the management channel, as types."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, TypedDict

from wifimgrd.dbus.client import messages
from wifimgrd.dbus.client.json_types import DeviceJson, InterfaceJson, Keywords, ServiceJson


class TilesetUpdatedJson(TypedDict):
    """A tileset's file came, changed or went."""

    tileset: str
    available: bool
    version: Annotated[str, "Another one for another content."] | None


class SnapshotJson(TypedDict):
    """How everything is; the events after it tell how it changes."""

    type: Annotated[str, Keywords(const="snapshot")]
    epoch: Annotated[str, "One life of the service."]
    seq: Annotated[int, "The number of the last event before.", Keywords(minimum=0)]
    service: ServiceJson
    devices: list[DeviceJson]
    interfaces: list[InterfaceJson]


DATA: Final[Mapping[str, type]] = MappingProxyType({**messages.DATA, "tileset.updated": TilesetUpdatedJson})
"""Every type of event, and what its data is."""
UNNUMBERED: Final = frozenset({"device.signal"})
