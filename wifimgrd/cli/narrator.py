"""Messages of the management channel as sentences. Pure: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wifimgrd.cli.text import STYLE_OF_STATE, Style
from wifimgrd.dbus.client.messages import Message

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sentence:
    """What happened to whom; both may hold any characters."""

    subject: str
    what: str
    style: Style = Style.PLAIN


class Narrator:
    """Tells each message in words, and remembers what was told, to say what is new."""

    def __init__(self) -> None:
        self._devices: dict[int, Data] = {}
        self._interfaces: dict[str, Data] = {}

    def tell(self, message: Message) -> list[Sentence]:
        """The sentences for one message; none where it has nothing new for a person."""
        data = message.data
        match message.type:
            case "snapshot":
                return self._snapshot(data)
            case "service.updated":
                return [_service(data)]
            case "device.created":
                self._devices[data["id"]] = data
                return [Sentence(self._name(data["id"]), f"registered, {data['connection_status']}")]
            case "device.removed":
                sentence = Sentence(self._name(data["id"]), "removed")
                self._devices.pop(data["id"], None)
                return [sentence]
            case "device.updated":
                return self._updated(data)
            case "device.connection_status.update":
                return self._status(data)
            case "device.signal":
                return [Sentence(self._name(data["id"]), f"signal {data['signal_strength']} %", Style.FAINT)]
            case "interface.added" | "interface.updated":
                return self._interface(data, new=message.type == "interface.added")
            case "interface.removed":
                self._interfaces.pop(data["name"], None)
                return [Sentence(data["name"], "unplugged", Style.BAD)]
        return []

    def _snapshot(self, data: Data) -> list[Sentence]:
        self._devices = {device["id"]: device for device in data["devices"]}
        self._interfaces = {interface["name"]: interface for interface in data["interfaces"]}
        counts = f"{_count(self._devices, 'device')}, {_count(self._interfaces, 'interface')}"
        return [Sentence("wifimgrd", f"watching {counts}", Style.FAINT)]

    def _name(self, device_id: int) -> str:
        device = self._devices.get(device_id)
        return f"device {device_id}" if device is None else f"{device['name']} ({device_id})"

    def _updated(self, data: Data) -> list[Sentence]:
        before = self._devices.get(data["id"], {})
        subject = self._name(data["id"])
        self._devices[data["id"]] = data
        sentences = []
        if data["name"] != before.get("name"):
            sentences.append(Sentence(subject, f'is called "{data["name"]}" now'))
        if data["connection_settings"] != before.get("connection_settings"):
            sentences.append(Sentence(subject, f'its network is "{data["connection_settings"]["ssid"]}" now'))
        camera = data["camera_address"]
        if camera is not None and camera != before.get("camera_address"):
            sentences.append(Sentence(subject, f"camera at {camera}, own address {data['local_address']}"))
        if (was := before.get("reachable")) is not None and was is not (now := data["reachable"]):
            if now is False:
                sentences.append(Sentence(subject, "is associated, but does not answer", Style.BAD))
            elif now:
                sentences.append(Sentence(subject, "answers again", Style.GOOD))
        return sentences

    def _status(self, data: Data) -> list[Sentence]:
        before = self._devices.get(data["id"], {})
        status, error = data["connection_status"], _error(data)
        what = str(status)
        if data["interface"] is not None and status != "failed":
            what += f" through {data['interface']}"
        if status == "failed" and error:
            what += f": {error}"
        elif status == "connecting" and before.get("connection_status") == "connected" and error:
            what = f"{what} again: {error}"
        if status != "failed":
            self._devices[data["id"]] = {**before, **data}
        return [Sentence(self._name(data["id"]), what, STYLE_OF_STATE.get(status, Style.PLAIN))]

    def _interface(self, data: Data, *, new: bool) -> list[Sentence]:
        before = self._interfaces.get(data["name"], {})
        self._interfaces[data["name"]] = data
        told = ("state", "reason", "device_id")
        if not new and all(data[key] == before.get(key) for key in told):
            return []
        what = f"plugged in, {data['state']}" if new else str(data["state"])
        if data["device_id"] is not None:
            what += f": {self._name(data['device_id'])}"
        elif data["reason"]:
            what += f": {data['reason']}"
        return [Sentence(data["name"], what, STYLE_OF_STATE.get(data["state"], Style.PLAIN))]


def _service(data: Data) -> Sentence:
    state = data["backend_state"]
    what = f"backend {data['backend']} {state}" if data["backend"] else f"backend {state}"
    if data["backend_reason"]:
        what += f": {data['backend_reason']}"
    return Sentence("wifimgrd", what, STYLE_OF_STATE.get(state, Style.PLAIN))


def _error(data: Data) -> str:
    code, message = data["connection_error_code"], data["connection_error_message"]
    return f"{message} ({code})" if code else ""


def _count(things: Mapping[Any, Data], what: str) -> str:
    return f"{len(things)} {what}{'' if len(things) == 1 else 's'}"
