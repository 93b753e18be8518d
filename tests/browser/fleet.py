"""The page of all hubs, with what it needs: a broker with WebSocket, a hub that serves it, its bridge."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Locator, Page, expect

from tests.browser.running_hub import RunningHub, running_hub
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.mosquitto import Mosquitto, free_port
from tests.mqtt.observer import Observer, observer
from tests.processes import has_no_traceback
from wifimgrd.client.json_records import device_json
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import Topics

USER: Final = "pilot"
PASSWORD: Final = "a long password"
GUEST: Final = "guest"
"""A user who may read, and send no commands; with the same password."""
OWN: Final = "boat"
"""The id of the hub that is a real one."""


def websocket_broker(folder: Path, port: int, *more: str, after: tuple[str, ...] = ()) -> Mosquitto:
    """A broker that has MQTT over WebSocket, too, and two users, with `more` lines, and `after` those of
    WebSocket."""
    folder.mkdir()
    passwords, rules = folder / "passwords", folder / "rules"
    passwords.touch(mode=0o600)
    for user in (USER, GUEST):
        subprocess.run(["mosquitto_passwd", "-b", passwords, user, PASSWORD], check=True)
    rules.write_text(f"user {USER}\ntopic readwrite #\nuser {GUEST}\ntopic read wifimgrd/#\n")
    websocket = (f"listener {port} 127.0.0.1", "protocol websockets", *after)
    return Mosquitto(
        folder,
        ("allow_anonymous false", f"password_file {passwords}", f"acl_file {rules}", *more, *websocket),
    )


def device_record(device_id: int, **fields: Any) -> dict[str, Any]:
    """A camera's record, as a bridge publishes it."""
    known: dict[str, Any] = {
        "name": f"Camera {device_id}",
        "codename": "insta360-x3",
        "ssid": b"X3",
        "state": "connected",
        "reachable": True,
    }
    return dict(device_json(replace(DeviceRecord(device_id), **{**known, **fields})))


def hub_record(hub: str, **fields: Any) -> dict[str, Any]:
    """A hub's record, as a bridge publishes it."""
    record = {
        "hub": hub,
        "version": "1.0",
        "backend": "simulated",
        "backend_state": "ready",
        "backend_reason": "",
    }
    return (
        record
        | {"total_interfaces": 2, "assigned_interfaces": 1, "epoch": "0" * 16, "commands": True}
        | fields
    )


@dataclass(slots=True)
class FleetPage:
    """The page, and what it shows."""

    broker: Mosquitto
    websocket_port: int
    hub: RunningHub
    bridge: BridgeProcess
    seen: Observer

    @property
    def url(self) -> str:
        return self.hub.url + "fleet/"

    def publish(self, topic: str, payload: Any) -> None:
        """Retain something below the prefix; an empty one removes it."""
        data = (
            payload if isinstance(payload, bytes) else payload.encode() if isinstance(payload, str) else None
        )
        self.seen.send(
            f"wifimgrd/{topic}", json.dumps(payload).encode() if data is None else data, retain=True
        )

    def publish_hub(self, hub: str, *cameras: Mapping[str, Any], online: bool = True, **fields: Any) -> None:
        """Retain what a bridge publishes of its hub."""
        self.publish(f"{hub}/hub", hub_record(hub, **fields))
        for camera in cameras:
            self.publish(f"{hub}/devices/{camera['id']}", camera)
        self.publish(f"{hub}/availability", "online" if online else "offline")

    async def reset(self) -> None:
        """Leave nothing but the real hub, online and without cameras."""
        await self.hub.reset()
        for topic in [
            one
            for one in self.seen.retained
            if one.startswith("wifimgrd/") and not one.startswith(f"wifimgrd/{OWN}/")
        ]:
            self.seen.send(topic, b"", retain=True)
        await self.seen.until(lambda: self.is_bare)

    @property
    def is_bare(self) -> bool:
        """Whether only the real hub is at the broker, online and without cameras."""
        topics = [one for one in self.seen.retained if one.startswith("wifimgrd/")]
        is_own = all(one.startswith(f"wifimgrd/{OWN}/") for one in topics)
        is_own = is_own and not any(re.fullmatch(r".*/devices/\d+", one) for one in topics)
        return is_own and self.seen.retained.get(f"wifimgrd/{OWN}/availability") == b"online"


@asynccontextmanager
async def fleet_page(folder: Path, *lines: str) -> AsyncIterator[FleetPage]:
    """A broker, with further lines of its configuration, and a hub that is published there."""
    port = free_port()
    broker = websocket_broker(folder / "broker", port, *lines)
    await broker.start()
    try:
        async with running_hub(
            folder, f'[http]\nfleet_broker = "ws://127.0.0.1:{port}"\n[link]\ngrace_s = 2\n'
        ) as hub:
            (folder / "password").write_text(PASSWORD)
            keys = f'broker = "mqtt://127.0.0.1:{broker.port}"\nhub = "{OWN}"\ncommands = true'
            keys += f'\nuser = "{USER}"\npassword_file = "{folder}/password"'
            bridge = BridgeProcess(folder / "bridge", hub.bus, keys)
            await bridge.start()
            settings = Settings(
                BrokerAddress("127.0.0.1", broker.port, tls=False),
                Topics("x", "x"),
                user=USER,
                password=PASSWORD,
            )
            try:
                async with observer(broker.port, settings) as seen:
                    yield FleetPage(broker, port, hub, bridge, seen)
            finally:
                await bridge.end()
                has_no_traceback(bridge.log)
    finally:
        await broker.kill()


async def sign_in(page: Page, url: str, password: str = PASSWORD, user: str = USER) -> None:
    """Open the page and enter user and password."""
    await page.goto(url)
    await page.get_by_label("User").fill(user)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in").click()


async def signed_in(page: Page, url: str, user: str = USER) -> None:
    """The same, and wait until everything has been asked for."""
    await sign_in(page, url, user=user)
    await expect(page.locator(".hub-state")).to_have_text("Connected")


def hub_row(page: Page, hub: str) -> Locator:
    """The row of a hub."""
    return page.locator(f'[data-hub="{hub}"]')


def camera_row(page: Page, hub: str, camera: int) -> Locator:
    """The row of a camera."""
    return page.locator(f'[data-camera="{hub}/{camera}"]')


async def open_all(page: Page) -> None:
    """Show the cameras of all hubs."""
    await page.get_by_role("button", name="Show all cameras").click()
