"""The entities of a camera and of the hub in Home Assistant: their members but for topics and ids. Pure.

All of it is constant, so no name of a camera or an adapter is evaluated in a template. Without a name an
entity is named by its device class, in the user's language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wifimgrd.client.json_text import dumps
from wifimgrd.domain.camera_state import AS_STATES
from wifimgrd.domain.commands import CONNECT, DISCONNECT, START_RECORDING, STOP_RECORDING, WAKE
from wifimgrd.domain.device import PowerState
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.mqtt._command_messages import RECORD

_ON: Final = "ON"
_OFF: Final = "OFF"
_UNKNOWN: Final = "None"
"""Home Assistant takes it for no state. It warns of an empty text, which is not in a sensor's `options`."""


def _of_record(text: str, otherwise: str = _UNKNOWN) -> str:
    """A template whose text is rendered with a record. `otherwise` is for the empty message of a record that
    is removed: Home Assistant may receive it before the entity is removed, and keeps an adapter's entity."""
    return f"{{% if value_json is defined %}}{text}{{% else %}}{otherwise}{{% endif %}}"


def _switched(condition: str) -> str:
    return _of_record(f"{{{{ '{_ON}' if {condition} else '{_OFF}' }}}}")


_IS_CONNECTED: Final = _switched("value_json.connected")
_HAS_PROBLEM: Final = _switched(
    "value_json.connection_error_code is not none or value_json.device_reachability == 'unavailable'"
    f" or (value_json.camera and value_json.camera.problems | select('in', {list(map(str, AS_STATES))})"
    " | list | count > 0)"
)
"""A camera that does not record as it was told has one, too."""
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
# States that a disconnect ends: also an attempt, the wait for an adapter, and reconnecting.
_IS_WANTED: Final = _switched(
    "value_json.connection_status in ('connected', 'connecting')"
    " or value_json.waiting_since is not none or value_json.lost_at is not none"
)


def _of_camera(value: str, otherwise: str = _UNKNOWN) -> str:
    """A template of what the camera says of itself, which may say nothing."""
    return _of_record(f"{{% if value_json.camera %}}{value}{{% else %}}{otherwise}{{% endif %}}", otherwise)


def _counted(name: str, divided: str = "") -> str:
    """A template of a number of the camera, if it is known."""
    value = f"value_json.camera.{name}"
    return _of_camera(f"{{{{ {_UNKNOWN} if {value} is none else {value}{divided} }}}}")


_BATTERY: Final = _counted("battery_level")
_STORAGE: Final = _counted("storage_free", " / 1000000000")
_TIME_LEFT: Final = _counted("recording_time_left_s", " // 60")
_RECORDS: Final = _of_camera(
    f"{{{{ {_UNKNOWN} if value_json.camera.recording is none"
    f" else '{_ON}' if value_json.camera.recording else '{_OFF}' }}}}"
)
_CAMERA_HAS_PROBLEM: Final = _of_camera(f"{{{{ '{_ON}' if value_json.camera.problems else '{_OFF}' }}}}")
_PROBLEMS: Final = _of_camera("{{ {'problems': value_json.camera.problems} | to_json }}", "{}")
_RIG_RECORDS: Final = _of_record(
    f"{{{{ '{_OFF}' if not value_json.recording_devices | int(0) else '{_ON}'"
    " if 0 < value_json.expected_devices == value_json.expected_recording_devices"
    f" else {_UNKNOWN} }}}}"
)
"""On if all cameras of the rig record, off if none does; where some do, neither is so."""
_RIG_IS_READY: Final = _switched("value_json.ready")
_READINESS: Final = _of_record("{{ {'message': value_json.ready_message} | to_json }}", "{}")
RIG_IS_READY: Final[Mapping[str, object]] = {
    "platform": "binary_sensor",
    "name": "Ready",
    "icon": "mdi:check-circle-outline",
    "value_template": _RIG_IS_READY,
    "json_attributes_template": _READINESS,
}
"""Off as long as anything stands in the way of the rig; the attribute says what."""
ADAPTER_STATES: Final = {"available": "Free", "in-use": "In use", "unavailable": "Unusable"}
"""In words: `unavailable` as a state of a sensor means that nothing is known of it."""
RESERVED: Final = "Reserved"
"""In the place of `Free`; the name of the entity says for which camera."""
ADAPTER_STATE: Final = _of_record(
    f"{{{{ '{RESERVED}' if value_json.state == 'available' and value_json.reserved_device_id"
    f" else {ADAPTER_STATES}[value_json.state] }}}}"
)
ADAPTER_DETAILS: Final = _of_record(
    "{{ {'reason': value_json.reason, 'camera_id': value_json.device_id,"
    " 'reserved_camera_id': value_json.reserved_device_id} | to_json }}",
    "{}",
)
IS_CURRENT: Final = _of_record(
    "{{ 'offline' if value_json.backend_state == 'unavailable' else 'online' }}", "offline"
)
IS_PLUGGED: Final = _of_record("online", "offline")

OF_CAMERA: Final[Mapping[str, Mapping[str, object]]] = {
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


def _switch(
    name: str, icon: str, template: str, on: Mapping[str, object], off: Mapping[str, object]
) -> Mapping[str, object]:
    """A switch whose positions are commands."""
    return {
        "platform": "switch",
        "name": name,
        "icon": icon,
        "value_template": template,
        "state_on": _ON,
        "state_off": _OFF,
        "payload_on": dumps(on),
        "payload_off": dumps(off),
        "optimistic": False,
        "qos": 1,
        "retain": False,  # a retained command is refused
    }


CONNECTION_SWITCH: Final = _switch(
    "Connection",
    "mdi:camera-wireless",
    _IS_WANTED,
    {"command": CONNECT.name},
    {"command": DISCONNECT.name},
)

OF_DRIVEN_CAMERA: Final[Mapping[str, Mapping[str, object]]] = {
    "battery": {
        "platform": "sensor",
        "device_class": "battery",
        "unit_of_measurement": "%",
        "state_class": "measurement",
        "value_template": _BATTERY,
    },
    "storage": {
        "platform": "sensor",
        "name": "Storage left",
        "icon": "mdi:sd",
        "device_class": "data_size",
        "unit_of_measurement": "GB",
        "suggested_display_precision": 1,
        "state_class": "measurement",
        "value_template": _STORAGE,
    },
    "recording_time_left": {
        "platform": "sensor",
        "name": "Recording time left",
        "icon": "mdi:timer-sand",
        "device_class": "duration",
        "unit_of_measurement": "min",
        "state_class": "measurement",
        "value_template": _TIME_LEFT,
    },
    "recording": {
        "platform": "binary_sensor",
        "name": "Recording",
        "icon": "mdi:record-rec",
        "device_class": "running",
        "value_template": _RECORDS,
    },
    "camera_problem": {
        "platform": "binary_sensor",
        "name": "Camera problem",
        "device_class": "problem",
        "value_template": _CAMERA_HAS_PROBLEM,
        "json_attributes_template": _PROBLEMS,
    },
}
RECORD_SWITCH: Final = _switch(
    "Record",
    "mdi:record-rec",
    _RECORDS,
    {"command": START_RECORDING.name},
    {"command": STOP_RECORDING.name},
)
RECORD_ON_ALL_SWITCH: Final = _switch(
    "Record on all",
    "mdi:record-rec",
    _RIG_RECORDS,
    {"command": RECORD, "options": {"recording": True, "all": True}},
    {"command": RECORD, "options": {"recording": False, "all": True}},
)

POWER_STATE: Final[Mapping[str, object]] = {
    "platform": "sensor",
    "name": "Power",
    "icon": "mdi:sleep",
    "device_class": "enum",
    "options": [one.value for one in PowerState],
    "value_template": _POWER,
}
WAKE_BUTTON: Final[Mapping[str, object]] = {
    "platform": "button",
    "name": "Wake",
    "icon": "mdi:alarm",
    "payload_press": dumps({"command": WAKE.name}),
    "qos": 1,
    "retain": False,
}
