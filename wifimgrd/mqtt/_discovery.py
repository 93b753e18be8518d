"""Home Assistant's device discovery: the messages that describe the hub and its cameras. Pure.

The topics and the shared members are those of https://www.home-assistant.io/integrations/mqtt/ ("Device
discovery payload", "Using availability topics"), the members of the components those of
https://www.home-assistant.io/integrations/binary_sensor.mqtt/, .../button.mqtt/, .../sensor.mqtt/ and
.../switch.mqtt/; which of them are required is in `homeassistant/components/mqtt/schemas.py` of
https://github.com/home-assistant/core.

Names of cameras, models and adapters are plain text there (`cv.string` in those schemas, while templates are
`cv.template`), so that nothing in them is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Final, TypedDict
from urllib.parse import quote

from wifimgrd import __version__
from wifimgrd.client.json_text import dumps, loads
from wifimgrd.client.json_types import Keywords
from wifimgrd.config.configuration import TOPIC_PREFIX
from wifimgrd.domain.camera_model import CameraModels
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.mqtt._entities import (
    ADAPTER_DETAILS,
    ADAPTER_STATE,
    ADAPTER_STATES,
    CONNECTION_SWITCH,
    IS_CURRENT,
    IS_PLUGGED,
    OF_CAMERA,
    OF_DRIVEN_CAMERA,
    POWER_STATE,
    RECORD_ON_ALL_SWITCH,
    RECORD_SWITCH,
    RESERVED,
    RIG_IS_READY,
    WAKE_BUTTON,
)
from wifimgrd.mqtt._topics import Target, Topics

_LONGEST_RECORD: Final = 1024


class DiscoveryRecordJson(TypedDict):
    """Where the hub publishes its discovery messages."""

    prefix: Annotated[str, "`[mqtt] discovery_prefix`.", Keywords(pattern=f"^{TOPIC_PREFIX}$")]


@dataclass(frozen=True, slots=True)
class Discovery:
    """The discovery messages of one hub."""

    topics: Topics
    prefix: str
    commands: bool
    """Cameras have a switch, those that can be woken a button, and those with a driver another switch."""
    models: CameraModels = field(default_factory=CameraModels)
    """Those whose name is shown instead of the codename."""
    page: str = ""
    """The address of the hub's page; empty where none is known that others reach."""

    @property
    def record(self) -> tuple[str, bytes]:
        """The topic and the record of the prefix: a bridge that is started with another one, or with none,
        removes what was published."""
        kept: DiscoveryRecordJson = {"prefix": self.prefix}
        return self.topics.discovery_record, dumps(kept).encode()

    def hub(
        self,
        version: str,
        interfaces: Iterable[str],
        reserved: Mapping[str, str] = MappingProxyType({}),
        *,
        records: bool = False,
    ) -> tuple[str, bytes]:
        """The topic and the message of the hub: whether it is there, and the state of each adapter.
        `reserved` has the name of the camera for which an interface is reserved. With `records` it has
        cameras that can be told to record, and a switch for all of them."""
        node = self.topics.node(None)
        components: dict[str, object] = {
            "connectivity": {
                "platform": "binary_sensor",
                "unique_id": f"{node}_connectivity",
                "device_class": "connectivity",
                "state_topic": self.topics.availability,
                "payload_on": "online",
                "payload_off": "offline",
                "entity_category": "diagnostic",
            },
            "ready": {
                "unique_id": f"{node}_ready",
                **RIG_IS_READY,
                "state_topic": self.topics.hub_record,
                "json_attributes_topic": self.topics.hub_record,
                "availability_mode": "all",
                "availability": self._is_known(),
            },
            "recording": {"platform": "switch"},
        }
        if records and self.commands:
            components["recording"] = {
                "unique_id": f"{node}_recording",
                **RECORD_ON_ALL_SWITCH,
                "state_topic": self.topics.hub_record,
                "command_topic": self.topics.command(Target(None, everyone=True)),
                "availability_mode": "all",
                "availability": self._is_known(),
            }
        for name in sorted(interfaces):
            key = f"adapter_{quote(name, safe='')}"
            components[key] = self._adapter(f"{node}_{key}", name, reserved.get(name))
        device: dict[str, object] = {
            "identifiers": [node],
            "name": f"wifimgrd {self.topics.hub}",
            "manufacturer": "wifimgrd",
            "model": "wifimgrd",
        }
        if self.page:
            device["configuration_url"] = self.page
        if version:
            device["sw_version"] = version
        return self.topics.discovery(self.prefix, None), _message(device, components)

    def camera(self, camera: DeviceRecord) -> tuple[str, bytes]:
        """The topic and the message of a camera."""
        node = self.topics.node(camera.id)
        device: dict[str, object] = {
            "identifiers": [node],
            "name": camera.name or f"Camera {camera.id}",
            "via_device": self.topics.node(None),
        }
        if camera.codename:
            model = self.models.get(camera.codename)
            device["model"] = model.device_name if model else camera.codename
            device["model_id"] = camera.codename
        wakes, records = camera.auto_wake is not None, camera.camera is not None
        entities = [
            *((key, members, True) for key, members in OF_CAMERA.items()),
            ("switch", CONNECTION_SWITCH, self.commands),
            ("power", POWER_STATE, wakes),
            ("wake", WAKE_BUTTON, wakes and self.commands),
            *((key, members, records) for key, members in OF_DRIVEN_CAMERA.items()),
            ("record", RECORD_SWITCH, records and self.commands),
        ]
        # Of one that is not there only the platform: Home Assistant removes what it may have of it.
        components = {
            key: self._entity(camera.id, key, members) if is_there else {"platform": members["platform"]}
            for key, members, is_there in entities
        }
        shared = {
            "state_topic": self.topics.device(camera.id),
            "availability_mode": "all",
            "availability": self._is_known(),
        }
        return self.topics.discovery(self.prefix, camera.id), _message(device, components, shared)

    def _entity(self, camera_id: int, key: str, members: Mapping[str, object]) -> dict[str, object]:
        entity = {"unique_id": f"{self.topics.node(camera_id)}_{key}", **members}
        if members["platform"] in ("switch", "button"):
            entity["command_topic"] = self.topics.command(Target(camera_id))
        if "json_attributes_template" in members:
            entity["json_attributes_topic"] = self.topics.device(camera_id)
        return entity

    def _is_known(self) -> list[dict[str, str]]:
        """States are known while the hub is online, and the service behind its backend there."""
        return [
            {"topic": self.topics.availability},
            {"topic": self.topics.hub_record, "value_template": IS_CURRENT},
        ]

    def _adapter(self, unique_id: str, name: str, camera: str | None) -> dict[str, object]:
        record = self.topics.interface(name)
        return {
            "platform": "sensor",
            "unique_id": unique_id,
            "name": f"Adapter {name}" if camera is None else f"Adapter {name}, reserved for {camera}",
            "icon": "mdi:usb",
            "device_class": "enum",
            "options": [*ADAPTER_STATES.values(), RESERVED],
            "state_topic": record,
            "value_template": ADAPTER_STATE,
            "json_attributes_topic": record,
            "json_attributes_template": ADAPTER_DETAILS,
            # An adapter that is unplugged becomes unavailable at once. Home Assistant keeps the entity, with
            # what was set for it, for when the adapter is back, as after a reset by the recovery.
            "availability_mode": "all",
            "availability": [*self._is_known(), {"topic": record, "value_template": IS_PLUGGED}],
            "entity_category": "diagnostic",
        }


def _message(
    device: Mapping[str, object], components: Mapping[str, object], shared: Mapping[str, object] | None = None
) -> bytes:
    origin = {"name": "wifimgrd", "sw_version": __version__}
    return dumps({"device": device, "origin": origin, **(shared or {}), "components": components}).encode()


def without_hub(message: bytes) -> bytes:
    """A camera's message that differs from it in one thing: it is not connected by way of the hub."""
    described: dict[str, dict[str, object]] = loads(message, "a discovery message")
    del described["device"]["via_device"]
    return dumps(described).encode()


def parse_prefix(payload: bytes) -> str | None:
    """The prefix in the record of an earlier run; None if it is none."""
    if len(payload) > _LONGEST_RECORD:
        return None
    try:
        value = loads(payload, "the record of the discovery")
    except InvalidRequest:
        return None
    prefix = value.get("prefix") if isinstance(value, dict) else None
    is_prefix = isinstance(prefix, str) and re.fullmatch(TOPIC_PREFIX, prefix)
    return prefix if is_prefix else None


def retained_topics(topics: Topics, prefixes: Iterable[str], held: Iterable[str]) -> list[str]:
    """The topics at which the broker may retain discovery messages of the hub, to read exactly those.

    A filter of all devices (`PREFIX/device/+/config`) would return those of others, of any number and size,
    and need the right to read them. A filter of only the hub's devices does not exist, since a wildcard
    stands for a whole level. So the topics follow from the hub's own subtree, which was read before: `held`
    has the record of each camera that has a message, because a message is published after the record and
    removed before it.
    """
    found = [device_id for topic in held if (device_id := topics.device_id(topic)) is not None]
    return [topics.discovery(prefix, one) for prefix in sorted(prefixes) for one in (None, *found)]
