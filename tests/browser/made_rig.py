"""Cameras that a test makes up, in the page's own channel: as many as it wants, in any state."""

from __future__ import annotations

import json
from typing import Any, Final

from playwright.async_api import Page, WebSocketRoute

from tests.browser.told import ago, said
from wifimgrd.client.json_members import DeviceJson
from wifimgrd.domain.records import DeviceRecord

CONNECTED: Final[dict[str, Any]] = {
    "connected": True,
    "connection_status": "connected",
    "reachable": True,
    "device_reachability": "healthy",
    "expected": True,
}


def recording(seconds: float = 724, **members: Any) -> dict[str, Any]:
    """A camera of the rig that has recorded for so long."""
    values = {
        "recording": True,
        "recording_requested": True,
        "recording_since": ago(seconds),
        "battery_level": 82,
        "recording_time_left_s": 4_320,
    }
    return CONNECTED | {"camera": said(**values | members)}


def stopped(*problems: str, **members: Any) -> dict[str, Any]:
    """One that was told to record, and does not."""
    return recording(recording=False, recording_since=None, problems=["not-recording", *problems], **members)


def failed(code: str) -> dict[str, Any]:
    """One that could not be connected."""
    return {
        "expected": True,
        "connection_error_code": code,
        "connection_error_message": "it did not work",
        "connection_error_at": ago(600),
    }


def _device(number: int, name: str, members: dict[str, Any]) -> dict[str, Any]:
    return {**DeviceJson.of(DeviceRecord(id=number, name=name)), "codename": "insta360-x4", **members}


class MadeRig:
    """The channel of a page; all that the hub says of cameras is left out."""

    def __init__(self, cameras: dict[str, dict[str, Any]]) -> None:
        self._devices = {
            number: _device(number, name, members)
            for number, (name, members) in enumerate(cameras.items(), 1)
        }
        self._page: WebSocketRoute | None = None
        self._is_cut = False

    async def to(self, page: Page) -> None:
        """Be that page's channel, from its next opening on."""
        await page.route_web_socket("**/ws/management/**", self._route)

    def change(self, name: str, **members: Any) -> None:
        """A camera is so from now on."""
        device = next(one for one in self._devices.values() if one["name"] == name)
        device.update(members)
        self._send("device.updated", device)

    def add(self, name: str, **members: Any) -> None:
        """A camera is registered."""
        number = max(self._devices) + 1
        self._devices[number] = _device(number, name, members)
        self._send("device.created", self._devices[number])

    def _send(self, kind: str, device: dict[str, Any]) -> None:
        assert self._page is not None
        self._page.send(json.dumps({"type": kind, "time": ago(0), "data": device}))

    async def cut(self) -> None:
        """The hub is gone, as far as the page can tell."""
        assert self._page is not None
        self._is_cut = True
        await self._page.close()

    async def _route(self, page: WebSocketRoute) -> None:
        if self._is_cut:
            await page.close()
            return
        self._page = page
        hub = page.connect_to_server()
        hub.on_message(lambda text: self._pass_on(page, str(text)))

    def _pass_on(self, page: WebSocketRoute, text: str) -> None:
        message = json.loads(text)
        if message["type"] == "snapshot":
            message["devices"] = list(self._devices.values())
        elif message["type"].startswith("device."):
            return
        page.send(json.dumps(message))
