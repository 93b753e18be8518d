"""Home Assistant's device discovery: the messages that describe the hub and its cameras. Pure.

The topics and the shared members are those of https://www.home-assistant.io/integrations/mqtt/ ("Device
discovery payload", "Using availability topics"), the members of the components those of
https://www.home-assistant.io/integrations/binary_sensor.mqtt/, .../button.mqtt/, .../sensor.mqtt/ and
.../switch.mqtt/; which of them are required is in `homeassistant/components/mqtt/schemas.py` of
https://github.com/home-assistant/core.

Templates are constant. Names of cameras, models and adapters are plain text there (`cv.string` in those
schemas, while templates are `cv.template`), so that nothing in them is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Final, TypedDict
from urllib.parse import quote

from wifimgrd import __version__
from wifimgrd.catalog import Models
from wifimgrd.client.json_text import dumps, loads
from wifimgrd.client.json_types import Keywords
from wifimgrd.config import TOPIC_PREFIX
from wifimgrd.domain.commands import CONNECT, DISCONNECT, WAKE
from wifimgrd.domain.device import PowerState
from wifimgrd.domain.errors import ErrorCode, InvalidRequest
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.mqtt.topics import Topics

_ON: Final = "ON"
_OFF: Final = "OFF"
_UNKNOWN: Final = "None"
"""What Home Assistant takes for no state. An empty text is none of a sensor's `options`: it warns of that."""
_LONGEST_RECORD: Final = 1024


def _of_record(text: str, otherwise: str = _UNKNOWN) -> str:
    """A template whose text is rendered with a record. `otherwise` is for the empty message of a record that
    is removed: Home Assistant may receive it before the entity is removed, and keeps an adapter's entity."""
    return f"{{% if value_json is defined %}}{text}{{% else %}}{otherwise}{{% endif %}}"


def _switched(condition: str) -> str:
    return _of_record(f"{{{{ '{_ON}' if {condition} else '{_OFF}' }}}}")


_IS_CONNECTED: Final = _switched("value_json.connected")
_HAS_PROBLEM: Final = _switched(
    "value_json.connection_error_code is not none or value_json.device_reachability == 'unavailable'"
)
_ERROR: Final = _of_record(
    "{{ {'error_code': value_json.connection_error_code, 'error': value_json.connection_error_message,"
    " 'error_at': value_json.connection_error_at, 'reachability': value_json.device_reachability}"
    " | to_json }}",
    "{}",
)
_REASONS: Final = ("none", *ErrorCode, "not-answering")
_REASON: Final = _of_record(
    "{{ value_json.connection_error_code"
    " or ('not-answering' if value_json.device_reachability == 'unavailable' else 'none') }}"
)
_SIGNAL: Final = _of_record("{{ value_json.signal_strength }}")
_ADAPTER: Final = _of_record("{{ value_json.interface }}")
_POWER: Final = _of_record("{{ value_json.power_state }}")
# What a disconnect ends: also an attempt, the wait for an adapter, and reconnecting.
_IS_WANTED: Final = _switched(
    "value_json.connection_status in ('connected', 'connecting')"
    " or value_json.waiting_since is not none or value_json.lost_at is not none"
)
_ADAPTER_STATES: Final = {"available": "Free", "in-use": "In use", "unavailable": "Unusable"}
"""In words: `unavailable` as a state of a sensor means that nothing is known of it."""
_RESERVED: Final = "Reserved"
"""In the place of `Free`; the name of the entity says for which camera."""
_ADAPTER_STATE: Final = _of_record(
    f"{{{{ '{_RESERVED}' if value_json.state == 'available' and value_json.reserved_device_id"
    f" else {_ADAPTER_STATES}[value_json.state] }}}}"
)
_ADAPTER_DETAILS: Final = _of_record(
    "{{ {'reason': value_json.reason, 'camera_id': value_json.device_id,"
    " 'reserved_camera_id': value_json.reserved_device_id} | to_json }}",
    "{}",
)
_IS_CURRENT: Final = _of_record(
    "{{ 'offline' if value_json.backend_state == 'unavailable' else 'online' }}", "offline"
)
_IS_PLUGGED: Final = _of_record("online", "offline")


class DiscoveryRecordJson(TypedDict):
    """Where the hub publishes its discovery messages."""

    prefix: Annotated[str, "`[mqtt] discovery_prefix`.", Keywords(pattern=f"^{TOPIC_PREFIX}$")]


@dataclass(frozen=True, slots=True)
class Discovery:
    """The discovery messages of one hub."""

    topics: Topics
    prefix: str
    commands: bool
    """Cameras have a switch, and those that can be woken a button."""
    models: Models = field(default_factory=dict)
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
        self, version: str, interfaces: Iterable[str], reserved: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[str, bytes]:
        """The topic and the message of the hub: whether it is there, and the state of each adapter.
        `reserved` has the name of the camera for which an interface is reserved."""
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
            }
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
        components: dict[str, dict[str, object]] = {
            key: {"unique_id": f"{node}_{key}", **members} for key, members in _CAMERA_COMPONENTS.items()
        }
        components["problem"]["json_attributes_topic"] = self.topics.device(camera.id)
        # Without commands only the platform: Home Assistant removes the switch that it may have.
        components["switch"] = {"platform": "switch"}
        if self.commands:
            components["switch"] |= {"unique_id": f"{node}_switch", **_SWITCH}
            components["switch"]["command_topic"] = self.topics.command(camera.id)
        # Those of a camera that can be woken: another model may be chosen for a device.
        components["power"], components["wake"] = {"platform": "sensor"}, {"platform": "button"}
        if camera.auto_wake is not None:
            components["power"] |= {"unique_id": f"{node}_power", **_POWER_STATE}
            if self.commands:
                components["wake"] |= {"unique_id": f"{node}_wake", **_WAKE_BUTTON}
                components["wake"]["command_topic"] = self.topics.command(camera.id)
        shared = {
            "state_topic": self.topics.device(camera.id),
            "availability_mode": "all",
            "availability": self._is_known(),
        }
        return self.topics.discovery(self.prefix, camera.id), _message(device, components, shared)

    def _is_known(self) -> list[dict[str, str]]:
        """States are known while the hub is online, and the service behind its backend there."""
        return [
            {"topic": self.topics.availability},
            {"topic": self.topics.hub_record, "value_template": _IS_CURRENT},
        ]

    def _adapter(self, unique_id: str, name: str, camera: str | None) -> dict[str, object]:
        record = self.topics.interface(name)
        return {
            "platform": "sensor",
            "unique_id": unique_id,
            "name": f"Adapter {name}" if camera is None else f"Adapter {name}, reserved for {camera}",
            "icon": "mdi:usb",
            "device_class": "enum",
            "options": [*_ADAPTER_STATES.values(), _RESERVED],
            "state_topic": record,
            "value_template": _ADAPTER_STATE,
            "json_attributes_topic": record,
            "json_attributes_template": _ADAPTER_DETAILS,
            # An adapter that is unplugged becomes unavailable at once. Home Assistant keeps the entity, with
            # what was set for it, for when the adapter is back, as after a reset by the recovery.
            "availability_mode": "all",
            "availability": [*self._is_known(), {"topic": record, "value_template": _IS_PLUGGED}],
            "entity_category": "diagnostic",
        }


# Without a name an entity is named by its device class, in the user's language.
_CAMERA_COMPONENTS: Final[Mapping[str, Mapping[str, object]]] = {
    "connectivity": {
        "platform": "binary_sensor",
        "device_class": "connectivity",
        "value_template": _IS_CONNECTED,
    },
    "problem": {
        "platform": "binary_sensor",
        "device_class": "problem",
        "value_template": _HAS_PROBLEM,
        "json_attributes_template": _ERROR,
    },
    "error": {
        "platform": "sensor",
        "name": "Error",
        "icon": "mdi:alert-circle-outline",
        "device_class": "enum",
        "options": _REASONS,
        "value_template": _REASON,
        "entity_category": "diagnostic",
    },
    "signal": {
        "platform": "sensor",
        "name": "Signal strength",
        "icon": "mdi:wifi",
        "unit_of_measurement": "%",
        "state_class": "measurement",
        "value_template": _SIGNAL,
        "entity_category": "diagnostic",
    },
    "adapter": {
        "platform": "sensor",
        "name": "Adapter",
        "icon": "mdi:usb",
        "value_template": _ADAPTER,
        "entity_category": "diagnostic",
    },
}
_SWITCH: Final[Mapping[str, object]] = {
    "name": "Connection",
    "icon": "mdi:camera-wireless",
    "value_template": _IS_WANTED,
    "state_on": _ON,
    "state_off": _OFF,
    "payload_on": dumps({"command": CONNECT.name}),
    "payload_off": dumps({"command": DISCONNECT.name}),
    "optimistic": False,
    "qos": 1,
    "retain": False,  # a retained command is refused
}

_POWER_STATE: Final[Mapping[str, object]] = {
    "name": "Power",
    "icon": "mdi:sleep",
    "device_class": "enum",
    "options": [one.value for one in PowerState],
    "value_template": _POWER,
}
_WAKE_BUTTON: Final[Mapping[str, object]] = {
    "name": "Wake",
    "icon": "mdi:alarm",
    "payload_press": dumps({"command": WAKE.name}),
    "qos": 1,
    "retain": False,
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
    """Where the broker may retain discovery messages of the hub, to read exactly those topics.

    A filter of all devices (`PREFIX/device/+/config`) would return those of others, of any number and size,
    and need the right to read them; one of the hub's alone does not exist, since a wildcard stands for a
    whole level. So the topics follow from the hub's own subtree, which was read before: `held` has the
    record of each camera that has a message, because a message is published after the record and removed
    before it.
    """
    found = [device_id for topic in held if (device_id := topics.device_id(topic)) is not None]
    return [topics.discovery(prefix, one) for prefix in sorted(prefixes) for one in (None, *found)]
