"""The types of the bodies of requests and answers, beside the records; see
`wifimgrd.client.json_types`."""

from __future__ import annotations

from typing import Annotated, Final, NotRequired, TypedDict

from wifimgrd.client.commands import MOST_AT_ONCE
from wifimgrd.client.json_types import Id, InterfaceName, Keywords, Pin
from wifimgrd.domain.device_values import HIGHEST_PRIORITY
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.history import LARGEST_ID

_TEXT: Final = {"minLength": 1, "maxLength": 128}
Ssid = Annotated[
    str,
    "1 to 32 bytes in UTF-8, without control characters.",
    Keywords(minLength=1, maxLength=32, format="ssid"),
]
Password = Annotated[
    str,
    "8 to 63 printable ASCII characters, or 64 hexadecimal digits; empty for an open network.",
    Keywords(pattern="^([ -~]{8,63}|[0-9A-Fa-f]{64})?$", writeOnly=True),
]
Codename = Annotated[str, "The camera's model, as in the catalog.", Keywords(**_TEXT, format="label")]
Name = Annotated[
    str,
    "Its display name, which must be unique; by default the SSID, with ` #2` if that is taken.",
    Keywords(**_TEXT, format="label"),
]

AutoReconnect = Annotated[
    bool, "Whether to reconnect it automatically after its link was lost; true by default."
]
Priority = Annotated[
    int,
    "If adapters are scarce, the device of higher priority is reconnected first; 0 by default.",
    Keywords(minimum=-HIGHEST_PRIORITY, maximum=HIGHEST_PRIORITY),
]


AutoWake = Annotated[
    bool,
    "Whether it may be woken without a command, for any attempt to connect and at most three times an hour;"
    " false by default.",
]
BluetoothAddress = Annotated[
    str,
    "A Bluetooth address.",
    Keywords(pattern="^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$"),
]


class SettingsInput(TypedDict):
    """The network of a camera's access point: its name and password, or the address of the camera, in pairing
    mode, which then says itself what they are."""

    ssid: NotRequired[Ssid]
    password: NotRequired[Password]
    bluetooth_address: NotRequired[BluetoothAddress]


_NETWORK: Final = {"required": ["ssid", "password"], "properties": {"bluetooth_address": False}}
_CAMERA: Final = {"required": ["bluetooth_address"], "properties": {"ssid": False, "password": False}}
"""The two ways to identify a camera; a body has one of them."""


class CreateInput(TypedDict):
    """A camera to register. Unknown members are ignored."""

    codename: Codename
    connection_type: Annotated[str, Keywords(const="wifi")]
    connection_settings: Annotated[SettingsInput, Keywords(oneOf=[_NETWORK, _CAMERA])]
    name: NotRequired[Name]
    auto_reconnect: NotRequired[AutoReconnect]
    priority: NotRequired[Priority]
    auto_wake: NotRequired[AutoWake]
    pin: NotRequired[Pin | None]
    connect: NotRequired[
        Annotated[bool, "Whether to connect it at once; by default as the configuration says."]
    ]
    when_free: NotRequired[
        Annotated[bool, "If no adapter is free for that, let it wait for one; false by default."]
    ]


class PairingInput(TypedDict, total=False):
    """Which camera is paired."""

    address: BluetoothAddress


class RecordingInput(TypedDict):
    """The order to a camera to record, or to stop."""

    recording: bool


class RecordingOfManyInput(TypedDict):
    """The order to several cameras to record, or to stop; either `device_ids` or `all` says which."""

    recording: bool
    device_ids: NotRequired[
        Annotated[list[Annotated[Id, Keywords(maximum=LARGEST_ID)]], Keywords(maxItems=MOST_AT_ONCE)]
    ]
    all: NotRequired[
        Annotated[
            bool,
            "The rig, connected or not, as far as the hub has drivers: those that are `expected`;"
            " to stop, also each whose recording was not seen to end.",
        ]
    ]
    connected: NotRequired[Annotated[bool, "With `all`: only those that are connected, expected or not."]]


_SOME: Final = {
    "required": ["device_ids"],
    "properties": {"all": {"const": False}, "connected": {"const": False}},
}
_ALL: Final = {"required": ["all"], "properties": {"all": {"const": True}, "device_ids": False}}
"""Which cameras: one of the two."""
RecordingOfMany = Annotated[RecordingOfManyInput, Keywords(anyOf=[_SOME, _ALL])]


class SettingsChange(TypedDict, total=False):
    """Changes to a camera's network; a link that is up stays."""

    ssid: Ssid
    password: Password


class ChangeInput(TypedDict, total=False):
    """Changes to a camera; absent members stay as they are."""

    name: Name
    connection_settings: SettingsChange
    codename: Codename
    auto_reconnect: AutoReconnect
    priority: Priority
    auto_wake: AutoWake
    pin: Pin | None


class CommandAnswer(TypedDict):
    """The result of a command."""

    message: str
    status: str
    device_connection_id: Id


class ConnectAnswer(TypedDict):
    """The result of a command to connect."""

    message: str
    status: Annotated[str, Keywords(enum=["connecting", "connected"])]
    device_connection_id: Id
    interface: InterfaceName | None


class WaitingAnswer(TypedDict):
    """No adapter is free: the device waits for one."""

    message: str
    status: Annotated[str, Keywords(const="waiting")]
    device_connection_id: Id


class DisconnectAnswer(TypedDict):
    """The result of a command to disconnect."""

    message: str
    status: Annotated[str, Keywords(enum=["disconnecting", "disconnected"])]
    device_connection_id: Id


class FieldJson(TypedDict):
    """A field of a form."""

    name: Annotated[str, "Its label."]
    type: Annotated[str, Keywords(enum=["text", "password"])]
    required: bool


class ConnectionTypeJson(TypedDict):
    """How a model is connected, and the fields that this needs."""

    name: str
    fields: dict[str, FieldJson]


class ButtonConfigJson(TypedDict):
    """The text and the action of a button of the wizard."""

    text: str
    action: Annotated[str, Keywords(const="WIZARD_ADD_DEVICE")]


class ButtonJson(TypedDict):
    """A button of the wizard."""

    type: Annotated[str, Keywords(const="button")]
    config: ButtonConfigJson


class ActionsJson(TypedDict):
    """The buttons below a page of the wizard."""

    right: ButtonJson


class StepJson(TypedDict):
    """A page of the platform's wizard."""

    template: Annotated[str, "HTML, with the slot that the platform's page puts the form in."]
    actions: ActionsJson


class ModelSnapshotJson(TypedDict):
    """Where a camera gives a picture of what it sees now."""

    path: Annotated[str, "At the camera's HTTP server."]
    body: Annotated[str, "What is sent there by POST, in JSON."] | None
    while_recording: Annotated[bool, "Whether it may be asked while it records, or may record."]


class ModelJson(TypedDict):
    """A camera model."""

    codename: str
    device_name: str
    device_image_url: Annotated[str, "The address of a picture of it."] | None
    connection_types: dict[str, ConnectionTypeJson]
    wizard_steps: list[StepJson]
    ssid_pattern: NotRequired[
        Annotated[str, "A regular expression of Python that matches the whole factory name of its network."]
    ]
    snapshot: NotRequired[ModelSnapshotJson]


class ModelsJson(TypedDict):
    """The catalog of camera models."""

    supported_devices: list[ModelJson]


class HealthJson(TypedDict):
    """The state of the service."""

    status: Annotated[str, Keywords(const="ok")]
    daemon: Annotated[str, Keywords(enum=["available", "unavailable"])]
    reason: Annotated[str, "Why the daemon is not available."] | None
    version: Annotated[str, "Of the daemon."] | None
    backend: Annotated[str, "The part that joins networks."] | None
    backend_state: Annotated[str, Keywords(enum=[one.value for one in BackendState])]
    backend_reason: Annotated[str, "Why it is not ready."] | None
    tiles: NotRequired[Annotated[list[dict[str, object]], "With `?verbose`: how each tileset's sources are."]]


class TilesetJson(TypedDict):
    """TileJSON 3.0.0 of a tileset; further members are those of its file."""

    tilejson: Annotated[str, Keywords(const="3.0.0")]
    tiles: list[str]
    name: str
    scheme: Annotated[str, Keywords(const="xyz")]
    minzoom: int
    maxzoom: int
    bounds: list[float]


class ListedTilesetJson(TilesetJson):
    """A tileset in the list."""

    tileset: Annotated[str, "Its name in addresses."]
    url: Annotated[str, "Of its TileJSON."]


class TilesetsJson(TypedDict):
    """The tilesets that can be used."""

    tilesets: list[ListedTilesetJson]
