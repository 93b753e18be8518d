"""What bodies of requests and of answers are made of, beside the records; see
`wifimgrd.dbus.client.json_types`."""

from __future__ import annotations

from typing import Annotated, Any, Final, NotRequired, TypedDict

from wifimgrd.dbus.client.json_types import Id, InterfaceName, Keywords
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.registration import HIGHEST_PRIORITY

_TEXT: Final = {"minLength": 1, "maxLength": 128}
Ssid = Annotated[
    str,
    "1 to 32 octets in UTF-8, without control characters.",
    Keywords(minLength=1, maxLength=32, format="ssid"),
]
Password = Annotated[
    str,
    "8 to 63 printable ASCII characters, or 64 hexadecimal digits; empty for an open network.",
    Keywords(pattern="^([ -~]{8,63}|[0-9A-Fa-f]{64})?$", writeOnly=True),
]
Name = Annotated[str, "What people call it; the SSID by default.", Keywords(**_TEXT, format="label")]

AutoReconnect = Annotated[bool, "Whether to bring it back after its link was lost; true by default."]
Priority = Annotated[
    int,
    "Who is brought back first where adapters are scarce: the higher; 0 by default.",
    Keywords(minimum=-HIGHEST_PRIORITY, maximum=HIGHEST_PRIORITY),
]


class SettingsInput(TypedDict):
    """The network that a camera makes."""

    ssid: Ssid
    password: Password


class CreateInput(TypedDict):
    """A camera to register. Members that are not known are ignored."""

    codename: Annotated[str, "The camera's model, as in the catalog.", Keywords(**_TEXT, format="label")]
    connection_type: Annotated[str, Keywords(const="wifi")]
    connection_settings: SettingsInput
    name: NotRequired[Name]
    auto_reconnect: NotRequired[AutoReconnect]
    priority: NotRequired[Priority]


class SettingsChange(TypedDict, total=False):
    """What to change of a camera's network; a link that is up stays."""

    ssid: Ssid
    password: Password


class ChangeInput(TypedDict, total=False):
    """What to change of a camera; what is not named stays."""

    name: Name
    connection_settings: SettingsChange
    auto_reconnect: AutoReconnect
    priority: Priority


class ConnectAnswer(TypedDict):
    """What became of a command to connect."""

    message: str
    status: Annotated[str, Keywords(enum=["connecting", "connected"])]
    device_connection_id: Id
    interface: InterfaceName | None


class DisconnectAnswer(TypedDict):
    """What became of a command to disconnect."""

    message: str
    status: Annotated[str, Keywords(enum=["disconnecting", "disconnected"])]
    device_connection_id: Id


class FieldJson(TypedDict):
    """A field of a form."""

    name: Annotated[str, "What to write beside it."]
    type: Annotated[str, Keywords(enum=["text", "password"])]
    required: bool


class ConnectionTypeJson(TypedDict):
    """How a model is connected, and what must be said for it."""

    name: str
    fields: dict[str, FieldJson]


class ModelJson(TypedDict):
    """A camera model."""

    codename: str
    device_name: str
    device_image_url: Annotated[str, "The address of a picture of it."] | None
    connection_types: dict[str, ConnectionTypeJson]
    wizard_steps: list[object]


class ModelsJson(TypedDict):
    """The catalog of camera models."""

    supported_devices: list[ModelJson]


class HealthJson(TypedDict):
    """How the service is."""

    status: Annotated[str, Keywords(const="ok")]
    daemon: Annotated[str, Keywords(enum=["available", "unavailable"])]
    reason: Annotated[str, "Why the daemon is not available."] | None
    version: Annotated[str, "Of the daemon."] | None
    backend: Annotated[str, "What joins networks."] | None
    backend_state: Annotated[str, Keywords(enum=[one.value for one in BackendState])]
    backend_reason: Annotated[str, "Why it is not ready."] | None
    tiles: NotRequired[Annotated[list[dict[str, Any]], "With `?verbose`: how each tileset's sources are."]]


class SessionInput(TypedDict):
    """The token, for a cookie."""

    token: str


class TilesetJson(TypedDict):
    """TileJSON 3.0.0 of a tileset; further members as its file says them."""

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
    """The tilesets that can be asked."""

    tilesets: list[ListedTilesetJson]
