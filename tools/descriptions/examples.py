"""Examples of requests and of their answers, by operation: for `/openapi.json`, and so for `/docs`.

They are those of the simulated world. `tests/http/test_examples.py` sends each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlencode

from wifimgrd import __version__
from wifimgrd.client.json_members import (
    BluetoothDeviceJson,
    BluetoothDevicesJson,
    CameraJson,
    HistoryJson,
    OutcomeJson,
    OutcomesJson,
    ResultJson,
    ResultsJson,
)
from wifimgrd.client.json_records import (
    check_json,
    device_json,
    groups_json,
    history_json,
    interfaces_json,
    search_json,
    signal_history_json,
    status_json,
    take_json,
)
from wifimgrd.client.takes_csv import takes_csv
from wifimgrd.config.catalog import load
from wifimgrd.domain.commands import DEVICE_COMMANDS
from wifimgrd.domain.records import (
    AbsentRecord,
    BluetoothRecord,
    CameraRecord,
    CheckRecord,
    DeviceRecord,
    FileRecord,
    FindingRecord,
    HistoryRecord,
    InterfaceRecord,
    MissingRecord,
    NetworkRecord,
    OutcomeRecord,
    ResultRecord,
    SearchRecord,
    ServiceRecord,
    SignalHistoryRecord,
    TakeRecord,
)
from wifimgrd.http._operations import Operation, Parameter, parameter_of
from wifimgrd.http.access.token import SessionInput
from wifimgrd.http.api.body_types import (
    ChangeInput,
    ConnectAnswer,
    CreateInput,
    DisconnectAnswer,
    HealthJson,
    ListedTilesetJson,
    ModelsJson,
    TilesetJson,
    TilesetsJson,
    WaitingAnswer,
)
from wifimgrd.http.api.models import model_json
from wifimgrd.http.description.resource import SCRIPT


@dataclass(frozen=True, slots=True)
class Example:
    """What is sent for one operation, and what comes back."""

    body: Any = None
    answer: Any = None
    """None where the example request itself is the only way to show it, e.g. for a picture."""
    further: Mapping[int, Any] = field(default_factory=dict)
    """Other answers, by status."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """The answer in other media types."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Those that are others than in PARAMETERS."""


PARAMETERS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "id": 1,
        "device_id": 1,
        "interface": "wlan2",
        "before": 100,
        "limit": 10,
        "wait": 10.0,
        "when_free": "1",
        "wake": "1",
        "step": "rejoin",
        "partial": "1",
        "seconds": 5,
        "history": "1",
        "verbose": "1",
        "Idempotency-Key": "add-front-1",
        "rest": "osc/info",
        "port": 8080,
        "since": "5f0c2a1e:41",
        "Last-Event-ID": "5f0c2a1e:41",
        "tileset": "terrain",
        "z": 0,
        "x": 0,
        "y": 0,
        "path": "sprite.json",
        "Range": "bytes=0-126",
        "If-Range": '"8d777f385d3dfec8815d20f7496026dc"',
    }
)
"""Values of parameters by name."""


def _microseconds(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1_000_000)


_ADAPTER: Final = InterfaceRecord(
    "wlan0",
    state="in-use",
    device_id=1,
    mac_address="02:00:00:00:00:00",
    driver="mt76x2u",
    usb_vendor_id="0e8d",
    usb_product_id="7612",
    usb_product="Simulated 802.11ac adapter",
    usb_port="1-1.1",
    bands=("2.4GHz", "5GHz"),
)
_ADAPTERS: Final = {
    one.name: one
    for one in (
        _ADAPTER,
        replace(
            _ADAPTER,
            name="wlan1",
            state="available",
            device_id=None,
            mac_address="02:00:00:00:00:01",
            usb_port="1-1.2",
        ),
    )
}
_SERVICE: Final = ServiceRecord(
    total_interfaces=len(_ADAPTERS),
    groups={"nose": (1, 2)},
    absent_adapters=(
        AbsentRecord(
            1,
            usb_port="1-1.3",
            interface="wlan2",
            product="Simulated 802.11ac adapter",
            unplugged_at=_microseconds("2026-11-20T17:02:12.000000+00:00"),
        ),
    ),
)
_NEW: Final = DeviceRecord(
    1,
    "Front",
    codename="insta360-x3",
    state="connecting",
    ssid=b"SIM-CAM-1",
    interface="wlan0",
    address="10.77.0.1",
    last_connection_attempt=_microseconds("2026-11-20T17:07:43.799218+00:00"),
    icon="/icons/panorama-camera.svg",
)
_DEVICE: Final = replace(
    _NEW,
    state="connected",
    local_address="192.168.42.10",
    camera_address="192.168.42.1",
    signal_strength=70,
    frequency=5180,
    tx_bitrate=650_000,
    rx_bitrate=585_000,
    reachable=True,
    last_successful_connection=_microseconds("2026-11-20T17:07:44.021139+00:00"),
)
_RECOVERING: Final = replace(
    _DEVICE,
    state="connecting",
    local_address=None,
    camera_address=None,
    signal_strength=None,
    frequency=None,
    tx_bitrate=None,
    rx_bitrate=None,
    reachable=False,
    connection_phase="joining",
    recovery_step="rejoin",
)
_SLEEPING: Final = replace(
    _NEW,
    id=2,
    name="Tail",
    state="disconnected",
    codename="gopro-hero12",
    ssid=b"GP25140001",
    interface=None,
    power_state="asleep",
    last_seen=_microseconds("2026-11-20T17:06:51.040277+00:00"),
    auto_wake=False,
    paired=True,
    bluetooth_address="F4:DD:3C:5A:0F:6B",
    icon="/icons/action-camera.svg",
)
_OF_SLEEPING: Final[Mapping[str, Any]] = MappingProxyType({"id": _SLEEPING.id})
_WAKING: Final = replace(_SLEEPING, connection_phase="waking")
_AWAKE: Final = replace(_SLEEPING, power_state="awake")
_OF_CAMERA: Final = CameraRecord(
    battery_level=82,
    battery_state="discharging",
    recording_state="recording",
    recording_since=_microseconds("2026-11-20T17:20:00.000000+00:00"),
    recording_requested=True,
    storage_state="ok",
    storage_free=51_539_607_552,
    storage_total=63_999_836_160,
    recording_time_left=6_120 * 1_000_000,
    temperature_state="normal",
    clock_offset=-40_000,
    clock_read_at=_microseconds("2026-11-20T17:08:00.000000+00:00"),
    model="HERO12 Black",
    serial_number="C3501324500001",
    firmware_version="H23.01.02.32.00",
    read_at=_microseconds("2026-11-20T17:20:02.101503+00:00"),
)
_RESULTS: Final[ResultsJson] = {
    "results": [
        ResultJson.of(ResultRecord(device_id=1, done=True, after=41_000)),
        ResultJson.of(
            ResultRecord(
                device_id=2, done=False, after=37_000, code="camera-refused", message="the card is full"
            )
        ),
    ]
}
_OUTCOMES: Final[OutcomesJson] = {
    "results": [
        OutcomeJson.of(OutcomeRecord(device_id=1, done=True)),
        OutcomeJson.of(
            OutcomeRecord(
                device_id=2,
                done=False,
                code="device-not-reachable",
                message="the network X3 AB12.OSC was not seen: the camera is powered off or out of range",
            )
        ),
    ]
}
_HEARD: Final[BluetoothDevicesJson] = {
    "bluetooth_devices": [
        BluetoothDeviceJson.of(
            BluetoothRecord(
                address="F4:DD:3C:5A:0F:6B",
                name="GoPro 0001",
                power_state="asleep",
                pairing_mode=True,
                rssi=-60,
                device_id=2,
            )
        )
    ]
}
_NETWORKS: Final = SearchRecord(
    networks=(
        NetworkRecord(
            ssid=b"SIM-CAM-3",
            bssids=("02:5c:de:a9:8a:21",),
            frequencies_mhz=(5180,),
            security="wpa2",
            bands=("5GHz",),
            signal_strength=70,
            last_seen=_microseconds("2026-11-20T17:09:12.500110+00:00"),
            interfaces=("wlan1",),
            device_id=None,
        ),
    ),
    scanned=("wlan1",),
    skipped={"wlan0": 'in use by "Front"'},
)
_SESSION: Final = HistoryRecord(
    id=1,
    time=_microseconds("2026-11-20T17:07:44.021139+00:00"),
    kind="session",
    device_id=1,
    device_name="Front",
    interface="wlan0",
    code="connection-lost",
    message="the connection was lost: the camera SIM-CAM-1 was switched off",
    ended=_microseconds("2026-11-20T18:30:02.113045+00:00"),
    signal_minimum=55,
    signal_mean=68,
)
_INTERRUPTION: Final = replace(
    _SESSION,
    id=2,
    time=_microseconds("2026-11-20T17:52:10.305872+00:00"),
    kind="interruption",
    ended=_microseconds("2026-11-20T17:52:14.471220+00:00"),
    signal_minimum=None,
    signal_mean=None,
)
_CREATE: Final[CreateInput] = {
    "codename": "insta360-x3",
    "connection_type": "wifi",
    "connection_settings": {"ssid": "SIM-CAM-1", "password": "camera-pass-1"},
    "name": "Front",
}
_CHANGE: Final[ChangeInput] = {"name": "Nose", "priority": 10}
_CONNECT: Final[ConnectAnswer] = {
    "message": "connecting Front",
    "status": "connecting",
    "device_connection_id": 1,
    "interface": "wlan0",
}
_WAITING: Final[WaitingAnswer] = {
    "message": "Front waits for an adapter",
    "status": "waiting",
    "device_connection_id": 1,
}
_DISCONNECT: Final[DisconnectAnswer] = {
    "message": "Front is disconnected",
    "status": "disconnected",
    "device_connection_id": 1,
}
_PLAIN: Final = {"message": "", "status": "connected", "device_connection_id": 1}
"""The answer to a command that has none of its own below."""
_MODELS: Final[ModelsJson] = {"supported_devices": [model_json(load()["insta360-x3"])]}
_SIGNAL: Final = signal_history_json(
    SignalHistoryRecord(
        60_000_000,
        [
            (_microseconds("2026-11-20T17:08:00+00:00"), 70, 68),
            (_microseconds("2026-11-20T17:09:00+00:00"), 66, 51),
        ],
        [84, None],
    )
)
_CHECKED: Final = check_json(
    CheckRecord(
        ok=False,
        checked=(1, 2),
        findings=(
            FindingRecord(device_id=2, code="not-connected", message="It is asleep."),
            FindingRecord(device_id=1, code="battery-low", message="Its battery is low: 41 %."),
        ),
    )
)
_HISTORY: Final[HistoryJson] = {"history": [history_json(row) for row in (_INTERRUPTION, _SESSION)]}
_RECORDING: Final = HistoryRecord(
    id=3,
    time=_microseconds("2026-11-20T17:10:02.412880+00:00"),
    kind="recording",
    device_id=1,
    device_name="Front",
    code="stopped",
    message="The recording was stopped.",
    ended=_microseconds("2026-11-20T17:21:40.097113+00:00"),
    serial_number="IXSE12345678",
    battery_level=80,
    battery_level_after=71,
    storage_free=61_203_283_968,
    storage_free_after=50_465_865_728,
    clock_offset=-212_400,
    clock_bound=9_100,
    files=(FileRecord(name="DCIM/Camera01/VID_20261120_181002_00_042.insv", size=10_737_418_240),),
)
_TAKE: Final = TakeRecord(
    time=_RECORDING.time,
    ended=_RECORDING.ended,
    recordings=(_RECORDING,),
    missing=(MissingRecord(device_id=2, device_name="Tail", code="not-connected"),),
)
TAKE_EXAMPLE: Final = take_json(_TAKE)
_HEALTH: Final[HealthJson] = {
    "status": "ok",
    "daemon": "available",
    "reason": None,
    "version": __version__,
    "backend": "networkmanager",
    "backend_state": "ready",
    "backend_reason": None,
}
_TOKEN: Final[SessionInput] = {"token": "the-token-in-token_file"}
_TILESET: Final[TilesetJson] = {
    "tilejson": "3.0.0",
    "scheme": "xyz",
    "tiles": ["http://127.0.0.1:8080/tiles/terrain/{z}/{x}/{y}.png"],
    "name": "World",
    "minzoom": 0,
    "maxzoom": 5,
    "bounds": [-180.0, -85.0511, 180.0, 85.0511],
}
_LISTED: Final[ListedTilesetJson] = {
    **_TILESET,
    "tileset": "terrain",
    "url": "http://127.0.0.1:8080/tiles/terrain.json",
}
_TILESETS: Final[TilesetsJson] = {"tilesets": [_LISTED]}
_CONTOUR_TILES: Final = "plugin-views/platform_plugin_map/map/contours/contours/{z}/{x}/{y}.mvt"
_CONTOURS: Final[TilesetJson] = {
    "tilejson": "3.0.0",
    "scheme": "xyz",
    "tiles": [f"http://127.0.0.1:8080/{_CONTOUR_TILES}"],
    "name": "contours",
    "minzoom": 1,
    "maxzoom": 12,
    "bounds": [-10.0, -20.0, 30.0, 40.0],
}
_METRICS: Final = """\
# HELP wifimgrd_backend_ready Whether cameras can be connected now.
# TYPE wifimgrd_backend_ready gauge
wifimgrd_backend_ready 1.0
"""
_REPORT: Final = (
    "The daemon's own report. On the host, `wifimgrctl diagnose` has more: journals, units, other programs.\n"
)
_EVENTS: Final = """\
event: device.signal
data: {"type":"device.signal","time":"2026-11-20T17:07:49.000000Z","data":{"id":1,"signal_strength":65}}

"""
_CAMERA: Final = {"manufacturer": "Insta360", "model": "Insta360 X3", "apiLevel": [2]}
_GOPRO: Final = {"version": "2.0"}


EXAMPLES: Final[Mapping[str, Example]] = MappingProxyType(
    {
        **{
            name: Example(answer=_PLAIN | {"message": f"{name} Front: connected"}) for name in DEVICE_COMMANDS
        },
        "list_devices": Example(answer=[device_json(_DEVICE)]),
        "get_device": Example(answer=device_json(_DEVICE)),
        "create_device": Example(body=_CREATE, answer=device_json(_NEW)),
        "update_device": Example(
            body=_CHANGE, answer=device_json(replace(_DEVICE, name="Nose", priority=10))
        ),
        "remove_device": Example(),
        "wake": Example(
            parameters=_OF_SLEEPING, answer=device_json(_WAKING), further={200: device_json(_AWAKE)}
        ),
        "sleep": Example(
            parameters=_OF_SLEEPING, answer=device_json(_AWAKE), further={200: device_json(_SLEEPING)}
        ),
        "pair": Example(
            {}, parameters=_OF_SLEEPING, answer=device_json(_AWAKE), further={200: device_json(_AWAKE)}
        ),
        "unpair": Example(parameters=_OF_SLEEPING),
        "recover": Example(answer=device_json(_RECOVERING), further={200: device_json(_DEVICE)}),
        "get_camera": Example(parameters=_OF_SLEEPING, answer=CameraJson.of(_OF_CAMERA)),
        "get_recording": Example(parameters=_OF_SLEEPING, answer=CameraJson.of(_OF_CAMERA)),
        "record": Example({"recording": True}, parameters=_OF_SLEEPING, answer=CameraJson.of(_OF_CAMERA)),
        "set_clock": Example(parameters=_OF_SLEEPING),
        "list_groups": Example(answer=groups_json(_SERVICE)),
        "connect_group": Example(parameters={"name": "nose"}, answer=_OUTCOMES),
        "record_on_many": Example({"recording": True, "device_ids": [1, 2]}, answer=_RESULTS),
        "search_bluetooth": Example(answer=_HEARD),
        "list_bluetooth_devices": Example(answer=_HEARD),
        "list_models": Example(answer=_MODELS),
        "connect": Example(answer=_CONNECT, further={202: _WAITING}),
        "disconnect": Example(answer=_DISCONNECT),
        "connection_status": Example(answer=status_json(_DEVICE)),
        "relay": Example(answer=_CAMERA),
        "relay_to_port": Example(answer=_GOPRO, parameters={"rest": "gopro/version"}),
        "list_interfaces": Example(answer=interfaces_json(_ADAPTERS, _SERVICE)),
        "list_networks": Example(answer=search_json(_NETWORKS)),
        "list_history": Example(answer=_HISTORY),
        "get_signal_history": Example(
            parameters={"since": "2026-11-20T17:08:00Z", "until": "2026-11-20T17:10:00Z"}, answer=_SIGNAL
        ),
        "check": Example(
            parameters={
                "device_id": [1, 2],
                "group": "nose",
                "recording": "0",
                "battery": 50,
                "time_left_s": 1800,
                "clock_ms": 500,
            },
            answer=_CHECKED,
        ),
        "list_takes": Example(
            parameters={"since": "2026-11-20T17:00:00Z", "until": "2026-11-20T18:00:00Z"},
            answer={"takes": [TAKE_EXAMPLE]},
            others={"text/csv": takes_csv([_TAKE])},
        ),
        "health": Example(answer=_HEALTH),
        "metrics": Example(answer=_METRICS),
        "diagnose": Example(answer=_REPORT),
        "follow_events": Example(answer=_EVENTS),
        "join_channel": Example(),
        "join_squawk": Example(),
        "create_session": Example(body=_TOKEN),
        "end_session": Example(),
        "page": Example(),
        "docs": Example(),
        "documents": Example(parameters={"path": "http/"}),
        "fleet": Example(),
        "asset": Example(parameters={"name": SCRIPT}),
        "icon": Example(parameters={"name": "camera.svg"}),
        "openapi": Example(),
        "asyncapi": Example(),
        "list_tilesets": Example(answer=_TILESETS),
        "tilejson": Example(answer=_TILESET),
        "tile": Example(parameters={"y": "0.png"}),
        "platform_tile": Example(),
        "map_style": Example(),
        "map_resource": Example(),
        "map_tiles": Example(),
        "map_contours": Example(),
        "map_contours_tilejson": Example(answer=_CONTOURS),
        "map_contour_tile": Example(parameters={"z": "1", "x": "1", "y": "0"}),
    }
)
"""By the name of the operation."""


def example_of(operation: Operation) -> Example:
    """The example of an operation; raises LookupError if it has none."""
    return EXAMPLES[operation.name]


def value_of(operation: Operation, parameter: Parameter) -> Any:
    """The value of a parameter in the example of an operation; raises LookupError if it has none."""
    own = example_of(operation).parameters
    return own[parameter.name] if parameter.name in own else PARAMETERS[parameter.name]


def example_address(operation: Operation, path: str) -> str:
    """The path of an operation with the example's values, and its query with what is required."""
    query = {}
    for one in map(parameter_of, operation.reads):
        if one.place == "path":
            path = path.replace(f"{{{one.name}}}", quote(str(value_of(operation, one)), safe="/{}"))
        elif one.place == "query" and one.required:
            query[one.name] = value_of(operation, one)
    return f"{path}?{urlencode(query)}" if query else path
