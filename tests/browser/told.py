"""What cameras say of themselves, as a test has it: the page's own channel, with other values in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from playwright.async_api import Page, WebSocketRoute

from wifimgrd.client.channel_messages import STATUS
from wifimgrd.client.json_members import CameraJson, StatusUpdateJson
from wifimgrd.domain.records import CameraRecord

RECORDS: Final = ("device.created", "device.updated")


def ago(seconds: float) -> str:
    """A time so long ago, as the hub writes it."""
    then = datetime.fromtimestamp(datetime.now(UTC).timestamp() - seconds, UTC)
    return then.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def said(**members: Any) -> dict[str, Any]:
    """What a camera has said just now; what is not given is not known."""
    return {**CameraJson.of(CameraRecord()), "read_at": ago(0), **members}


class Told:
    """The channel between the hub and a page; the hub's own values of cameras are left out."""

    def __init__(self) -> None:
        self._cameras: dict[str, Mapping[str, Any] | None] = {}
        self._ids: dict[str, int] = {}
        self._expected: dict[str, bool] = {}
        self._adapters: dict[str, dict[str, Any]] = {}
        self._health: dict[str, dict[str, Any]] = {}
        self._records: dict[str, dict[str, Any]] = {}
        self._links: dict[str, dict[str, Any]] = {}
        self._page: WebSocketRoute | None = None

    async def to(self, page: Page) -> None:
        """Be that page's channel, from its next opening on."""
        await page.route_web_socket("**/ws/management/**", self._route)

    def say(self, name: str, camera: Mapping[str, Any] | None) -> None:
        """A camera says something from now on; None: the hub has no driver for it."""
        self._cameras[name] = camera
        self._send("device.camera.update", {"id": self._ids.get(name), "camera": camera})

    def expect(self, *names: str, expected: bool = True) -> None:
        """These cameras are of the rig, or are not, in the records from the next one on."""
        self._expected |= dict.fromkeys(names, expected)

    def link(self, name: str, **members: Any) -> None:
        """A camera's connection has these values from now on, beside the hub's; without any, the hub's."""
        self._links[name] = members
        record = self._records[name] | members
        self._send(STATUS, {name: record[name] for name in StatusUpdateJson.members})
        self._send("device.updated", record)

    def health(self, adapter: str, health: str, reason: str | None = None, **members: Any) -> None:
        """An adapter is in such a state from now on, as its record tells."""
        self._health[adapter] = {"health": health, "health_reason": reason, **members}
        if adapter in self._adapters:
            self._send("interface.updated", self._adapters[adapter] | self._health[adapter])

    def stopped(self, name: str, reason: str) -> None:
        """A recording has ended."""
        self._send("device.recording.stopped", {"id": self._ids[name], "reason": reason})

    def taken(self, adapter: str, step: str) -> None:
        """An adapter is taken for a recovery step."""
        members = {"state": "unavailable", "reason": f"being recovered ({step})", "device_id": None}
        self.health(adapter, "recovering", f"its link was up and dead at 19:02; {step} runs")
        self._send("interface.updated", self._adapters[adapter] | self._health[adapter] | members)

    def blocked(self, adapter: str, how: str) -> None:
        """An adapter's radio is switched off."""
        members = {"state": "unavailable", "reason": f"blocked by rfkill ({how})"}
        self._send("interface.updated", self._adapters[adapter] | members)

    def gone(self, adapter: str) -> None:
        """An adapter has gone."""
        self._send("interface.removed", {"name": adapter})

    def _send(self, kind: str, data: Mapping[str, Any]) -> None:
        if self._page is not None and data.get("id", data.get("name")) is not None:
            self._page.send(json.dumps({"type": kind, "time": ago(0), "data": data}))

    def _route(self, page: WebSocketRoute) -> None:
        self._page = page
        hub = page.connect_to_server()
        hub.on_message(lambda text: self._pass_on(page, str(text)))

    def _pass_on(self, page: WebSocketRoute, text: str) -> None:
        message = json.loads(text)
        if message["type"] == "snapshot":
            records = message["devices"]
        elif message["type"] in RECORDS:
            records = [message["data"]]
        elif message["type"] in ("device.camera.update", "device.recording.stopped"):
            return
        else:
            records = []
        if message["type"] == STATUS:
            own = self._links.get(message["data"]["name"], {})
            message["data"].update({name: own[name] for name in StatusUpdateJson.members if name in own})
        adapters = message["interfaces"] if message["type"] == "snapshot" else []
        if message["type"] in ("interface.added", "interface.updated"):
            adapters = [message["data"]]
        for adapter in adapters:
            self._adapters[adapter["name"]] = dict(adapter)
            adapter.update(self._health.get(adapter["name"], {}))
        for record in records:
            self._ids[record["name"]] = record["id"]
            self._records[record["name"]] = dict(record)
            record.update(self._links.get(record["name"], {}))
            record["camera"] = self._cameras.get(record["name"])
            record["expected"] = self._expected.get(record["name"], record["expected"])
        page.send(json.dumps(message))
