"""`/metrics`: the state on the bus and the shim's own counters, for Prometheus.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Protocol

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from wifimgrd import __version__
from wifimgrd.client.changes import (
    AttemptFailed,
    Change,
    DaemonAppeared,
    DaemonVanished,
    DeviceChanged,
    DeviceRemoved,
)
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera import BatteryState, RecordingState
from wifimgrd.domain.camera_state import UNKNOWN, is_current
from wifimgrd.domain.device import ConnectionPhase, DeviceState, PowerState
from wifimgrd.domain.device_names import name_of
from wifimgrd.domain.errors import ATTEMPT_CODES, ErrorCode
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.domain.power import BluetoothState
from wifimgrd.domain.records import CameraRecord, DeviceRecord
from wifimgrd.domain.recovery import RECOVERY_STEPS
from wifimgrd.http._operations import Operation
from wifimgrd.http._routes import Routes
from wifimgrd.http.channel.channel import now_us

_DEVICE: Final = "device"
_Value = Callable[[CameraRecord], float | None]
_OF_CAMERA: Final[tuple[tuple[str, str, _Value], ...]] = (
    ("battery_percent", "How full the battery is.", lambda camera: camera.battery_level),
    (
        "battery_charging",
        "Whether the battery is being charged.",
        lambda camera: _whether(camera.battery_state, BatteryState.CHARGING),
    ),
    (
        "recording",
        "Whether the camera records.",
        lambda camera: _whether(camera.recording_state, RecordingState.RECORDING),
    ),
    ("storage_free_bytes", "What is free on the card.", lambda camera: camera.storage_free),
    (
        "recording_left_seconds",
        "How long the camera can record.",
        lambda camera: None if camera.recording_time_left is None else camera.recording_time_left / 1e6,
    ),
)
"""The values that connected cameras report: name, description, value."""


def device_families(devices: Iterable[DeviceRecord], *, current: bool) -> Iterator[Metric]:
    """The values of each device, with its name as the label `device`; while the states are not `current`,
    only what it is to do. A value that is not known has no sample. What a camera is to do is known without
    its connection, and what it says of itself only with it."""
    devices = tuple(devices)
    names = Tally(device.name for device in devices)
    expected = _family("expected", "Whether the device is one of the rig, connected or not.")
    connected = _family("connected", "Whether the device is connected.")
    signal = _family("signal_percent", "The strength of the signal.")
    reachable = _family("reachable", "Whether the connected device answers.")
    requested = _family("recording_requested", "Whether the last command to the camera was to record.")
    of_camera = [(_family(name, text), value) for name, text, value in _OF_CAMERA]
    for device in devices:
        # Two devices of one name, as an earlier version allowed: Prometheus refuses the same sample twice.
        name = device.name if names[device.name] == 1 else f"{device.name} ({device.id})"
        expected.add_metric([name], device.expected)
        if device.camera is not None:
            requested.add_metric([name], device.camera.recording_requested)
        if not current:
            continue
        connected.add_metric([name], device.is_connected)
        if not device.is_connected:
            continue
        reachable.add_metric([name], device.reachable)
        if device.signal_strength is not None:
            signal.add_metric([name], device.signal_strength)
        for family, value in of_camera:
            number = None if device.camera is None else value(device.camera)
            if number is not None:
                family.add_metric([name], number)
    yield from (expected, connected, signal, reachable, requested, *(family for family, _ in of_camera))


def _family(name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"wifimgrd_device_{name}", text, labels=[_DEVICE])


def _whether(state: str | None, wanted: str) -> float | None:
    return None if state is None else float(state == wanted)


_ATTEMPT_BUCKETS: Final = (0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 12, 20, 30, 60)
_SENDING_BUCKETS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
_OUTAGE_BUCKETS: Final = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 900, 3600)
_SUCCESS: Final = "success"
_FAILED: Final = "failed"
_RESERVED: Final = "reserved"

TileCounts = Callable[[], Mapping[tuple[str, str, str], int]]
"""Requests for tiles so far, by tileset, type of source and outcome."""


class Channels(Protocol):
    """The counted values of the management channel."""

    @property
    def listeners(self) -> int:
        """The number of connected clients."""

    @property
    def dropped(self) -> int:
        """The number of clients that were disconnected because they did not read."""


class Metrics:
    """The resource at `/metrics`, and the listener that counts."""

    def __init__(self, client: HubClient, audience: Channels, clock: Callable[[], int] = now_us) -> None:
        self._clock = clock
        self.tile_counts: TileCounts | None = None
        self._client = client
        self._attempting: set[int] = set()
        """Devices with a running attempt; an interrupted link is not one."""
        self._registry = CollectorRegistry()
        self._attempts = Counter(
            "wifimgrd_connection_attempts",
            "Connection attempts that ended, by outcome: success, or the error's code.",
            ["outcome"],
            registry=self._registry,
        )
        self._connect_time = Histogram(
            "wifimgrd_connect_seconds",
            "From the start of a successful attempt to the connection.",
            buckets=_ATTEMPT_BUCKETS,
            registry=self._registry,
        )
        self._interruptions = Counter(
            "wifimgrd_link_interruptions",
            "Links that dropped and were given time to return.",
            registry=self._registry,
        )
        self._reconnects = Counter(
            "wifimgrd_reconnects", "Dropped links that were restored automatically.", registry=self._registry
        )
        self._report_time = Histogram(
            "wifimgrd_loss_reported_seconds",
            "From the daemon's detection of a lost link to this service's message to its clients.",
            buckets=_SENDING_BUCKETS,
            registry=self._registry,
        )
        self._outage_time = Histogram(
            "wifimgrd_outage_seconds",
            "From the loss of a link to the connection that came back by itself.",
            buckets=_OUTAGE_BUCKETS,
            registry=self._registry,
        )
        self._lost = Counter(
            "wifimgrd_links_lost", "Links that ended for good, by the error's code.", ["code"],
            registry=self._registry,
        )  # fmt: skip
        self._wakes = Counter(
            "wifimgrd_wakes",
            "Wakes of cameras over Bluetooth that ended, by outcome: success, or failed, also if cancelled.",
            ["outcome"],
            registry=self._registry,
        )
        for outcome in (_SUCCESS, _FAILED):
            self._wakes.labels(outcome)
        for outcome in (_SUCCESS, *ATTEMPT_CODES):
            self._attempts.labels(str(outcome))
        for code in (ErrorCode.CONNECTION_LOST, ErrorCode.INTERFACE_LOST):
            self._lost.labels(str(code))
        ProcessCollector(registry=self._registry)
        self._registry.register(_Now(self, audience))
        client.subscribe(self._count)

    def add_to(self, routes: Routes) -> None:
        """Add the route."""
        routes.add("GET HEAD", "/metrics", self.metrics)

    @Operation("metrics", "service", media_types=("text/plain", "application/openmetrics-text"), answer=str)
    async def metrics(self, request: web.Request) -> web.Response:
        """Metrics, for Prometheus.

        In its text format, or in that of OpenMetrics if the client accepts it.
        """
        await self._client.confirm()
        write, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=write(self._registry), headers={"Content-Type": content_type})

    def families(self, audience: Channels) -> Iterator[Metric]:
        """The values that are read now, not counted here."""
        client = self._client
        build = GaugeMetricFamily("wifimgrd_build_info", "Always 1.", labels=["version", "backend"])
        build.add_metric([__version__, client.service.backend], 1)
        yield build
        ready = client.available and client.service.backend_state == BackendState.READY
        yield _gauge("wifimgrd_daemon_up", "Whether the daemon is running.", client.available)
        yield _gauge("wifimgrd_backend_ready", "Whether cameras can be connected now.", ready)
        if client.available:
            bluetooth = client.service.bluetooth_state == BluetoothState.READY
            yield _gauge("wifimgrd_bluetooth_ready", "Whether sleeping cameras can be woken now.", bluetooth)
            asleep = sum(device.power_state == PowerState.ASLEEP for device in client.devices.values())
            yield _gauge("wifimgrd_devices_asleep", "Cameras that are known to sleep.", asleep)
            needing = sum(bool(device.paired or device.auto_wake) for device in client.devices.values())
            yield _gauge(
                "wifimgrd_devices_needing_bluetooth",
                "Cameras that are paired, or may be woken without a command.",
                needing,
            )
            current = is_current(client.service.backend_state)
            devices = Tally(one.state if current else UNKNOWN for one in client.devices.values())
            yield _by_state("wifimgrd_devices", "Registered cameras.", DeviceState, devices)
            reachable = sum(device.reachable for device in client.devices.values())
            yield _gauge("wifimgrd_devices_reachable", "Connected cameras that answer.", reachable)
            yield from device_families(client.devices.values(), current=current)
            yield from _interfaces(client, current=current)
        recoveries = CounterMetricFamily(
            "wifimgrd_adapter_recoveries",
            "Recovery steps taken, on adapters and for cameras, since the daemon started.",
            labels=["step"],
        )
        for step in RECOVERY_STEPS:
            recoveries.add_metric([step], client.service.recoveries.get(step, 0))
        yield recoveries
        yield _gauge("wifimgrd_websocket_clients", "Clients on the channel.", audience.listeners)
        dropped = CounterMetricFamily(
            "wifimgrd_websocket_drops", "Clients disconnected because they did not read."
        )
        dropped.add_metric([], audience.dropped)
        yield dropped
        tiles = CounterMetricFamily(
            "wifimgrd_tile_requests", "Requests for tiles.", labels=["tileset", "source", "outcome"]
        )
        for labels, count in (self.tile_counts() if self.tile_counts else {}).items():
            tiles.add_metric(labels, count)
        yield tiles

    def _count(self, change: Change) -> None:
        match change:
            case DaemonAppeared():
                self._attempting = {
                    device.id for device in self._client.devices.values() if _is_attempt(device)
                }
            case DaemonVanished():
                self._attempting.clear()
            case DeviceRemoved(device_id):
                self._attempting.discard(device_id)
            case AttemptFailed(device_id, code):
                self._failed(device_id, code)
            case DeviceChanged(before, after, is_step):
                self._count_wake(before, after)
                if is_step:
                    self._moved(before, after)

    def _failed(self, device_id: int, code: str) -> None:
        """An attempt failed or was refused, or a link ended for good."""
        before = self._client.devices.get(device_id)
        at_rest = before is not None and before.state == DeviceState.DISCONNECTED
        if device_id in self._attempting or at_rest:
            self._attempting.discard(device_id)
            self._attempts.labels(code).inc()
        else:
            self._lost.labels(code).inc()

    def _count_wake(self, before: DeviceRecord, after: DeviceRecord) -> None:
        """A wake ends with its phase: within an attempt the next one is joining, else the camera is awake."""
        waking = ConnectionPhase.WAKING
        if before.connection_phase != waking or after.connection_phase == waking:
            return
        in_attempt = before.state == DeviceState.CONNECTING
        is_awake = after.power_state == PowerState.AWAKE
        has_woken = after.connection_phase == ConnectionPhase.JOINING if in_attempt else is_awake
        self._wakes.labels(_SUCCESS if has_woken else _FAILED).inc()

    def _moved(self, before: DeviceRecord, device: DeviceRecord) -> None:
        if before.state == DeviceState.CONNECTED and device.lost_at is not None:
            self._report_time.observe(max(0, self._clock() - device.lost_at) / 1e6)
        match before.state, device.state:
            case DeviceState.DISCONNECTED, DeviceState.CONNECTING:
                self._attempting.add(device.id)
            case DeviceState.CONNECTED, DeviceState.CONNECTING if device.recovery_step is None:
                self._interruptions.inc()
            case DeviceState.CONNECTING, DeviceState.CONNECTED:
                self._connected(before, device)
            case DeviceState.CONNECTING, DeviceState.DISCONNECTING if device.id in self._attempting:
                self._attempting.discard(device.id)
                self._attempts.labels(str(ErrorCode.CANCELLED)).inc()

    def _connected(self, before: DeviceRecord, device: DeviceRecord) -> None:
        is_attempt = device.id in self._attempting
        if is_attempt:
            self._attempting.discard(device.id)
            self._attempts.labels(_SUCCESS).inc()
            self._connect_time.observe(_seconds_to_connect(device))
        if before.recovery_step is None and (before.lost_at is not None or not is_attempt):
            self._reconnects.inc()
        if before.lost_at is not None:
            back_us = device.last_successful_connection or before.lost_at
            self._outage_time.observe(max(0, back_us - before.lost_at) / 1e6)


class _Now(Collector):
    """Collects values when they are requested."""

    def __init__(self, metrics: Metrics, audience: Channels) -> None:
        self._metrics = metrics
        self._audience = audience

    def collect(self) -> Iterable[Metric]:
        """See Collector."""
        return self._metrics.families(self._audience)


def _is_attempt(device: DeviceRecord) -> bool:
    is_restored = (
        device.connection_error_code == ErrorCode.CONNECTION_LOST or device.recovery_step is not None
    )
    return device.state == DeviceState.CONNECTING and not is_restored


def _seconds_to_connect(device: DeviceRecord) -> float:
    """By the daemon's own clock."""
    begun, done = device.last_connection_attempt or 0, device.last_successful_connection or 0
    return max(0, done - begun) / 1e6


def _interfaces(client: HubClient, *, current: bool) -> Iterator[Metric]:
    """One that waits for its device is `reserved` here, so that those `available` are free."""
    interfaces = client.interfaces.values()
    known = (_RESERVED if interface.is_kept else interface.state for interface in interfaces)
    counted = Tally(state if current else UNKNOWN for state in known)
    states = (*InterfaceState, _RESERVED)
    yield _by_state("wifimgrd_interfaces", "Wi-Fi interfaces; `available` are free.", states, counted)
    reserved = GaugeMetricFamily(
        "wifimgrd_interface_reserved",
        "Interfaces that are reserved for a camera, in whatever state. Always 1.",
        labels=["interface", "device"],
    )
    for interface in interfaces:
        if interface.reserved_device_id is not None:
            reserved.add_metric([interface.name, name_of(interface.reserved_device_id, client.devices)], 1)
    yield reserved
    health = GaugeMetricFamily(
        "wifimgrd_interface_health",
        "What is known of each interface's adapter, once it has received anything. Always 1.",
        labels=["interface", "health"],
    )
    for interface in interfaces:
        if interface.health is not None and current:
            health.add_metric([interface.name, interface.health], 1)
    yield health


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def _by_state(name: str, text: str, states: Iterable[str], counted: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=["state"])
    for state in (*states, UNKNOWN):
        family.add_metric([str(state)], counted.get(state, 0))
    return family
