"""The whole product as it is installed: daemon and shim as systemd units, looked at over HTTP, WebSocket
and D-Bus at once."""

import asyncio
import contextlib
import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import aiohttp

from wifimgrd.client.changes import AttemptFailed, Change
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import WifimgrdError

from .access_point import Camera
from .deadline import async_poll_until, poll_until
from .namespace import CommandError, run
from .traffic import Download, until_fetched

URL = "http://127.0.0.1:8080"
DEVICES = "/plugin-views/platform_plugin_device_manager/devices"
STATE = Path("/var/lib/wifimgrd")
CONFIGURATION = Path("/etc/wifimgrd/wifimgrd.toml")
CODENAME = "insta360-x3"
_OF_SHIM = ("[http]", "[platform]", "[catalog]", "tiles.")
BACK_S = 20.0
"""After the backend is back, all that was connected is connected again: in 2 s, or in 6 if the first scan
misses a camera (FIRST_WAIT_S of `domain/reconnect_policy.py`); later on a busy machine."""

Json = Any


@dataclass
class Channel:
    """The management channel: what it sent, and a way to wait for what it will send."""

    messages: list[Json] = field(default_factory=list)
    arrival: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def listen(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Keep every message."""
        async for message in socket:
            async with self.arrival:
                self.messages.append(json.loads(message.data))
                self.arrival.notify_all()

    async def until(self, wanted: Callable[[Json], bool], what: str, seconds: float = 15) -> Json:
        """Wait for a message, also among those that came before."""
        looked_at = 0
        try:
            async with asyncio.timeout(seconds), self.arrival:
                while True:
                    for message in self.messages[looked_at:]:
                        if wanted(message):
                            return message
                    looked_at = len(self.messages)
                    await self.arrival.wait()
        except TimeoutError:
            received = "\n".join(map(str, self.messages))
            raise AssertionError(f"the channel never sent {what}; it sent:\n{received}") from None

    def forget(self) -> None:
        """Begin a new chapter."""
        self.messages.clear()

    def statuses(self, device: int) -> list[str]:
        """The states of a device, in the order sent."""
        return [
            message["data"]["connection_status"]
            for message in self.messages
            if message["type"] == "device.connection_status.update" and message["data"]["id"] == device
        ]


class HubOnBus(HubClient):
    """The client of the product; what never came so is told with what there was instead."""

    async def wait_until(self, holds: Callable[[Self], bool], timeout_s: float) -> None:
        """Wait until this holds."""
        try:
            await super().wait_until(holds, timeout_s)
        except TimeoutError:
            found = [
                f"available: {self.available}",
                self.service,
                *self.interfaces.values(),
                *self.devices.values(),
            ]
            raise AssertionError(
                f"after {timeout_s:g} s still not so:\n" + "\n".join(map(str, found))
            ) from None


@dataclass
class WholeHub:
    """The three faces of the running product."""

    http: aiohttp.ClientSession
    dbus: HubOnBus
    channel: Channel
    failures: list[AttemptFailed] = field(default_factory=list)

    def note_change(self, change: Change) -> None:
        """Keep what the D-Bus signal ConnectionFailed reports."""
        if isinstance(change, AttemptFailed):
            self.failures.append(change)

    async def ask(self, method: str, path: str, **options: Any) -> tuple[int, Json]:
        """Send a request below the devices' path; return status and body."""
        async with self.http.request(method, URL + DEVICES + path, **options) as answer:
            return answer.status, await answer.json(content_type=None)

    async def add(self, camera: Camera, codename: str = CODENAME, **changes: str) -> int:
        """Register a camera over HTTP; its first attempt starts."""
        settings = {"ssid": camera.ssid.decode(), "password": camera.password} | changes
        body = {"codename": codename, "connection_type": "wifi", "connection_settings": settings}
        status, record = await self.ask("POST", "/", json=body)
        assert status == 201, record
        return int(record["id"])

    async def connect(self, device: int, wait: float = 30) -> tuple[int, Json]:
        """Connect over HTTP and wait for the outcome."""
        return await self.ask("GET", f"/wifi/connect?device_id={device}&wait={wait}")

    async def disconnect(self, device: int) -> tuple[int, Json]:
        """Disconnect over HTTP."""
        return await self.ask("GET", f"/wifi/disconnect?device_id={device}")

    async def status(self, device: int) -> Json:
        """The status endpoint."""
        status, body = await self.ask("GET", f"/wifi/status?device_id={device}")
        assert status == 200
        return body

    async def interfaces(self) -> Json:
        """The interfaces endpoint."""
        status, body = await self.ask("GET", "/wifi/interfaces")
        assert status == 200
        return body

    async def until(self, device: int, state: str, seconds: float = 30) -> None:
        """Wait until the channel sent a state of a device since the last chapter, then expect the same
        of HTTP and D-Bus."""
        await self.received(device, state, seconds)
        await self.expect(device, state)

    async def received(self, device: int, status: str, seconds: float = 30) -> Json:
        """Wait until the channel sent a status of a device since the last chapter; return its data."""
        message = await self.channel.until(
            lambda message: (
                message["type"] == "device.connection_status.update"
                and message["data"]["id"] == device
                and message["data"]["connection_status"] == status
            ),
            f"{status} of device {device}",
            seconds,
        )
        return message["data"]

    async def expect(self, device: int, state: str, code: str | None = None) -> None:
        """Expect a state, and an error code where one is given, of HTTP and D-Bus alike."""
        await self.agree()
        status, record = await self.status(device), self.dbus.devices[device]
        assert status["connection_status"] == record.state == state
        assert status["connected"] == (state == "connected")
        assert status["interface"] == record.interface
        if code is not None:
            assert status["connection_error_code"] == record.connection_error_code == code
            assert status["connection_error_message"] == record.connection_error_message
            assert record.connection_error_message
        known = {one["name"]: one for one in (await self.interfaces())["interfaces"]}
        if record.interface is not None and record.interface in known:
            assert known[record.interface]["state"] == "in-use"
            assert known[record.interface]["device_id"] == device

    async def is_served(self) -> bool:
        """Whether the shim has what the daemon has."""
        try:
            return (await self.ask("GET", "/"))[0] == 200
        except aiohttp.ClientError:  # it is being restarted, too
            return False

    async def agree(self) -> None:
        """Wait until HTTP and D-Bus report the same: each client of the bus receives a change by itself."""
        await async_poll_until(self._agree, "HTTP and D-Bus reporting the same", 5)

    async def _agree(self) -> bool:
        interfaces = (await self.interfaces())["interfaces"]
        status, devices = await self.ask("GET", "/")
        return (
            status == 200
            and {one["name"]: (one["state"], one["device_id"], one["reason"]) for one in interfaces}
            == {name: (one.state, one.device_id, one.reason) for name, one in self.dbus.interfaces.items()}
            and {one["id"]: (one["connection_status"], one["interface"]) for one in devices}
            == {number: (one.state, one.interface) for number, one in self.dbus.devices.items()}
        )

    async def failed(self, device: int, code: str, seconds: float = 40) -> str:
        """Wait until a failure is sent on the channel, then expect it everywhere; return its message."""
        failure = await self.received(device, "failed", seconds)
        assert failure["connection_error_code"] == code, failure
        # HTTP and D-Bus say so at once, the channel a second later; a lost device may connect again by then.
        await self.expect(device, "disconnected", code)
        await self.received(device, "disconnected")
        assert (device, code) in [(one.device_id, one.code) for one in self.failures]
        return str(failure["connection_error_message"])

    async def interface_state(self, name: str, state: str, seconds: float = 15) -> None:
        """Wait until an interface is in a state, on D-Bus."""
        await self.dbus.wait_until(
            lambda dbus: name in dbus.interfaces and dbus.interfaces[name].state == state, seconds
        )

    async def all_in(self, state: str, devices: Iterable[int], seconds: float) -> None:
        """Wait until devices are in a state, on D-Bus, which may not have reported a new one yet."""
        wanted = set(devices)
        await self.dbus.wait_until(
            lambda dbus: wanted <= {number for number, one in dbus.devices.items() if one.state == state},
            seconds,
        )

    async def all_back(self, devices: Iterable[int]) -> None:
        """Wait until the backend is there, and then until all devices are connected."""
        await self.dbus.wait_until(lambda dbus: dbus.service.backend_state == "ready", 20)
        await self.all_in("connected", devices, BACK_S)

    def ticks(self, device: int, camera: Camera) -> Download:
        """Download from a connected camera at its device's address, once that leads to it."""
        url = f"http://{self.dbus.devices[device].address}"
        until_fetched(None, camera.name, f"{url}/")
        return Download(None, f"{url}/cgi-bin/ticks")

    async def choose_backend(self, name: str) -> None:
        """Change the configuration, restart the daemon, and wait until that backend is ready."""
        _restart_with(f'[backend]\nname = "{name}"\n')
        await self.dbus.wait_until(
            lambda dbus: (dbus.service.backend, dbus.service.backend_state) == (name, "ready"), 30
        )

    async def await_daemon(self, seconds: float = 20) -> None:
        """Wait until the daemon that runs now is there, on D-Bus and for the shim. The answer to a call comes
        after the news that the one before has left."""
        with suppress(WifimgrdError, TimeoutError):
            await self.dbus.history(limit=1)
        with suppress(aiohttp.ClientError):
            await self.ask("GET", "/history?limit=1")
        await self.dbus.wait_until(lambda dbus: dbus.available, seconds)
        await async_poll_until(self.is_served, "the shim following the daemon", seconds)


@asynccontextmanager
async def whole_hub(configuration: str = "") -> AsyncIterator[WholeHub]:
    """Start both units on an empty state directory; stop the daemon after. The shim has no state, and needs
    longer to start than all else: it stays for the next hub. Of a configuration it reads nothing that tests
    here set."""
    assert not any(section in configuration for section in _OF_SHIM)
    _begin_anew(configuration)
    dbus = HubOnBus("system")
    await dbus.start()
    try:
        run("systemctl", "start", "wifimgrd.service", "wifimgrd-http.service")
        await dbus.wait_until(lambda client: client.available, 20)
        async with aiohttp.ClientSession() as session:
            hub = WholeHub(session, dbus, Channel())
            await async_poll_until(hub.is_served, "the shim following this daemon", 10)
            async with session.ws_connect(URL + "/ws/management/") as socket:
                dbus.subscribe(hub.note_change)
                listening = asyncio.create_task(hub.channel.listen(socket))
                await hub.channel.until(lambda message: message["type"] == "snapshot", "a snapshot")
                yield hub
                run("systemctl", "start", "wifimgrd.service")  # a test may have stopped it, with its links
                await dbus.confirm()
                await hub.await_daemon()
                for device in list(dbus.devices):
                    await dbus.remove_device(device)
                listening.cancel()
    finally:
        await dbus.stop()
        if run("systemctl", "show", "-P", "SubState", "wifimgrd-http.service").strip() != "running":
            # It was killed, and with its next start it would start the daemon again.
            run("systemctl", "stop", "wifimgrd-http.service")
        run("systemctl", "stop", "wifimgrd.service")
        # Then: what the daemon called for at the last moment would cancel its stop. A stop of a unit that the
        # message bus is starting would make it wait for 25 s before it starts the unit again.
        state = ("systemctl", "show", "-P", "ActiveState", "wifimgrd-net.service")
        poll_until(lambda: run(*state).strip() != "activating", "the end of the helper's start", 25)
        run("systemctl", "stop", "wifimgrd-net.service")


def journal_of_daemon(*options: str) -> str:
    """What the daemon has written since it was started, a line each."""
    life = run("systemctl", "show", "-P", "InvocationID", "wifimgrd.service").strip()
    return run("journalctl", "-o", "cat", "--no-pager", f"_SYSTEMD_INVOCATION_ID={life}", *options)


def _restart_with(configuration: str) -> None:
    CONFIGURATION.write_text(configuration)
    run("systemctl", "restart", "wifimgrd.service")


def _begin_anew(configuration: str) -> None:
    shutil.rmtree(STATE, ignore_errors=True)
    CONFIGURATION.parent.mkdir(parents=True, exist_ok=True)
    CONFIGURATION.write_text(configuration)
    with contextlib.suppress(CommandError):  # never started yet
        run("systemctl", "reset-failed", "wifimgrd.service", "wifimgrd-http.service")
