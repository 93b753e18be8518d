"""`/metrics`: what the shim sees on the bus and at its own door, for Prometheus.

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
from wifimgrd.dbus.client.changes import (
    AttemptFailed,
    Change,
    DaemonAppeared,
    DaemonVanished,
    DeviceAdded,
    DeviceChanged,
    DeviceRemoved,
)
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.records import DeviceRecord
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.http.description.operations import operation
from wifimgrd.http.routes import Routes

_ATTEMPT_BUCKETS: Final = (0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 12, 20, 30, 60)
_SUCCESS: Final = "success"
_ATTEMPT_CODES: Final = (
    ErrorCode.NO_INTERFACE_AVAILABLE,
    ErrorCode.DEVICE_NOT_REACHABLE,
    ErrorCode.AUTHENTICATION_FAILED,
    ErrorCode.ASSOCIATION_REFUSED,
    ErrorCode.ADDRESS_FAILED,
    ErrorCode.INTERFACE_LOST,
    ErrorCode.BACKEND_UNAVAILABLE,
    ErrorCode.CANCELLED,
    ErrorCode.INTERNAL,
)

TileCounts = Callable[[], Mapping[tuple[str, str], int]]
"""Requests for tiles so far, by tileset and outcome."""


class Audience(Protocol):
    """What is counted of the management channel."""

    @property
    def listeners(self) -> int:
        """How many clients listen now."""

    @property
    def dropped(self) -> int:
        """How many were given up because they did not read."""


class Metrics:
    """The resource at `/metrics`, and the listener that counts."""

    def __init__(self, client: HubClient, audience: Audience) -> None:
        self.tile_counts: TileCounts | None = None
        self._client = client
        self._attempting: set[int] = set()
        """Devices with an attempt of their own, which an interrupted link is not."""
        self._states: dict[int, str] = {}
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
            "Links that dropped and were waited for.",
            registry=self._registry,
        )
        self._reconnects = Counter(
            "wifimgrd_reconnects", "Dropped links that came back by themselves.", registry=self._registry
        )
        self._lost = Counter(
            "wifimgrd_links_lost", "Links that ended for good, by the error's code.", ["code"],
            registry=self._registry,
        )  # fmt: skip
        for outcome in (_SUCCESS, *_ATTEMPT_CODES):
            self._attempts.labels(str(outcome))
        for code in (ErrorCode.CONNECTION_LOST, ErrorCode.INTERFACE_LOST):
            self._lost.labels(str(code))
        ProcessCollector(registry=self._registry)
        self._registry.register(_Now(self, audience))
        client.subscribe(self._count)

    def add_to(self, routes: Routes) -> None:
        """Wire the address."""
        routes.add("GET HEAD", "/metrics", self.metrics)

    @operation("metrics", "service", media_types=("text/plain", "application/openmetrics-text"), answer=str)
    async def metrics(self, request: web.Request) -> web.Response:
        """Count, for Prometheus.

        In its text format, or as OpenMetrics for who accepts that.
        """
        write, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=write(self._registry), headers={"Content-Type": content_type})

    def families(self, audience: Audience) -> Iterator[Metric]:
        """What is so now, and is not counted here."""
        client = self._client
        build = GaugeMetricFamily("wifimgrd_build_info", "Always 1.", labels=["version", "backend"])
        build.add_metric([__version__, client.service.backend], 1)
        yield build
        ready = client.available and client.service.backend_state == BackendState.READY
        yield _gauge("wifimgrd_daemon_up", "Whether the daemon is there.", client.available)
        yield _gauge("wifimgrd_backend_ready", "Whether cameras can be connected now.", ready)
        if client.available:
            devices = Tally(device.state for device in client.devices.values())
            yield _by_state("wifimgrd_devices", "Registered cameras.", DeviceState, devices)
            interfaces = Tally(interface.state for interface in client.interfaces.values())
            yield _by_state("wifimgrd_interfaces", "Wi-Fi interfaces.", InterfaceState, interfaces)
        yield _gauge("wifimgrd_websocket_clients", "Clients on the channel.", audience.listeners)
        dropped = CounterMetricFamily(
            "wifimgrd_websocket_drops", "Clients given up because they did not read."
        )
        dropped.add_metric([], audience.dropped)
        yield dropped
        tiles = CounterMetricFamily(
            "wifimgrd_tile_requests", "Requests for tiles.", labels=["tileset", "outcome"]
        )
        for labels, count in (self.tile_counts() if self.tile_counts else {}).items():
            tiles.add_metric(labels, count)
        yield tiles

    def _count(self, change: Change) -> None:
        match change:
            case DaemonAppeared():
                self._states = {device.id: device.state for device in self._client.devices.values()}
                self._attempting = {
                    device.id for device in self._client.devices.values() if _is_attempt(device)
                }
            case DaemonVanished():
                self._states.clear()
                self._attempting.clear()
            case DeviceAdded(device):
                self._states[device.id] = device.state
            case DeviceRemoved(device_id):
                self._states.pop(device_id, None)
                self._attempting.discard(device_id)
            case AttemptFailed(device_id, code):
                self._failed(device_id, code)
            case DeviceChanged(device, changed) if "State" in changed:
                self._moved(device, self._states.get(device.id))
                self._states[device.id] = device.state

    def _failed(self, device_id: int, code: str) -> None:
        """An attempt failed or was refused, or a link ended for good."""
        if device_id in self._attempting or self._states.get(device_id) == DeviceState.DISCONNECTED:
            self._attempting.discard(device_id)
            self._attempts.labels(code).inc()
        else:
            self._lost.labels(code).inc()

    def _moved(self, device: DeviceRecord, before: str | None) -> None:
        match before, device.state:
            case DeviceState.DISCONNECTED, DeviceState.CONNECTING:
                self._attempting.add(device.id)
            case DeviceState.CONNECTED, DeviceState.CONNECTING:
                self._interruptions.inc()
            case DeviceState.CONNECTING, DeviceState.CONNECTED if device.id in self._attempting:
                self._attempting.discard(device.id)
                self._attempts.labels(_SUCCESS).inc()
                self._connect_time.observe(_seconds_to_connect(device))
            case DeviceState.CONNECTING, DeviceState.CONNECTED:
                self._reconnects.inc()
            case DeviceState.CONNECTING, DeviceState.DISCONNECTING if device.id in self._attempting:
                self._attempting.discard(device.id)
                self._attempts.labels(str(ErrorCode.CANCELLED)).inc()


class _Now(Collector):
    """What is read when it is asked for."""

    def __init__(self, metrics: Metrics, audience: Audience) -> None:
        self._metrics = metrics
        self._audience = audience

    def collect(self) -> Iterable[Metric]:
        """See Collector."""
        return self._metrics.families(self._audience)


def _is_attempt(device: DeviceRecord) -> bool:
    return device.state == DeviceState.CONNECTING and device.error_code != ErrorCode.CONNECTION_LOST


def _seconds_to_connect(device: DeviceRecord) -> float:
    """By the daemon's own clock."""
    begun, done = device.last_connection_attempt_us or 0, device.last_successful_connection_us or 0
    return max(0, done - begun) / 1e6


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def _by_state(name: str, text: str, states: Iterable[str], counted: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=["state"])
    for state in states:
        family.add_metric([str(state)], counted.get(state, 0))
    return family
