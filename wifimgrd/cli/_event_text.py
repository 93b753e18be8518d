"""Messages of the management channel as sentences. Pure: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from wifimgrd.cli._camera_views import problem_words
from wifimgrd.cli._text import STYLE_OF_STATE, Style
from wifimgrd.cli._views import reserved_for, suspicion
from wifimgrd.client.channel_messages import Message
from wifimgrd.domain.camera import StopReason
from wifimgrd.domain.camera_state import OF_ERROR, CameraState, camera_state, of_error, recovering
from wifimgrd.domain.device import ConnectionPhase
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.domain.power import BluetoothState
from wifimgrd.domain.recovery import Health
from wifimgrd.domain.sentences import recording_ended

Data = Mapping[str, Any]
_ENDED: Final = frozenset({*OF_ERROR.values(), CameraState.FAILED})
"""The states in which nothing goes on."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """An event and its subject; both may contain any characters."""

    subject: str
    what: str
    style: Style = Style.PLAIN


class EventText:
    """Turns messages into sentences, and stores what was shown last, to print only changes."""

    def __init__(self) -> None:
        self._devices: dict[int, Data] = {}
        self._shown: dict[int, str] = {}
        """The states of the devices, as they were shown last."""
        self._interfaces: dict[str, Data] = {}
        self._service: Data = {}

    def text(self, message: Message) -> list[Sentence]:
        """The sentences for one message; none if it has nothing new for a person."""
        data = message.data
        match message.type:
            case "snapshot":
                return self._snapshot(data)
            case "service.updated":
                return self._service_updated(data)
            case "device.power_state.update":
                return self._power(data)
            case "device.camera.update" | "device.recording.stopped" | "take.ended":
                return self._camera(data)
            case "device.operation.failed":
                what = f"{data['operation']} failed: {data['message']} ({data['code']})"
                return [Sentence(self._name(data["id"]), what, Style.BAD)]
            case "device.created":
                self._devices[data["id"]] = data
                self._shown[data["id"]] = _state_text(data)
                return [Sentence(self._name(data["id"]), f"registered, {_state(data).value}")]
            case "device.removed":
                sentence = Sentence(self._name(data["id"]), "removed")
                self._devices.pop(data["id"], None)
                self._shown.pop(data["id"], None)
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
                return [Sentence(data["name"], "unplugged")]
        return []

    def _snapshot(self, data: Data) -> list[Sentence]:
        self._devices = {device["id"]: device for device in data["devices"]}
        self._shown = {device["id"]: _state_text(device) for device in data["devices"]}
        self._interfaces = {interface["name"]: interface for interface in data["interfaces"]}
        self._service = {}
        counts = f"{_count(self._devices, 'camera')}, {_count(self._interfaces, 'adapter')}"
        return [Sentence("wifimgrd", f"watching {counts}", Style.FAINT)]

    def _name(self, device_id: int) -> str:
        device = self._devices.get(device_id)
        return f"camera {device_id}" if device is None else f"{device['name']} ({device_id})"

    def _service_updated(self, data: Data) -> list[Sentence]:
        """The changes of the backend and of Bluetooth."""
        before, self._service = self._service, data
        backend, bluetooth = _backend(data), _bluetooth(data)
        if not before:
            return [backend, bluetooth] if data["bluetooth_state"] == BluetoothState.OFF else [backend]
        is_known = data["bluetooth_state"] != BluetoothState.ABSENT or data["bluetooth_reason"]
        if bluetooth == _bluetooth(before) or not is_known:
            return [backend]
        return [bluetooth] if backend == _backend(before) else [backend, bluetooth]

    def _power(self, data: Data) -> list[Sentence]:
        """Whether a camera sleeps; nothing if it was only seen again, or no longer."""
        before = self._devices.get(data["id"], {})
        self._devices[data["id"]] = {**before, **data}
        state = data["power_state"]
        if state is None or state == before.get("power_state"):
            return []
        return [Sentence(self._name(data["id"]), str(state))]

    def _camera(self, data: Data) -> list[Sentence]:
        """The changes of a camera: whether it records, why it has stopped recording, and its problems; and
        the end of a take."""
        if "recordings" in data:
            return [_take_ended(data)]
        if "reason" in data:
            return [_recording_stopped(self._name(data["id"]), data["reason"])]
        device_id, subject, now = data["id"], self._name(data["id"]), data["camera"] or {}
        before = self._devices.get(device_id, {}).get("camera") or {}
        self._devices[device_id] = {**self._devices.get(device_id, {}), **data}
        sentences = []
        if now.get("recording") and not before.get("recording"):
            sentences.append(Sentence(subject, "recording", Style.GOOD))
        problems, were = now.get("problems", ()), before.get("problems", ())
        sentences += [
            Sentence(subject, f"problem: {problem_words(code)}", Style.BAD)
            for code in problems
            if code not in were
        ]
        return sentences + [
            Sentence(subject, f"problem over: {problem_words(code)}") for code in were if code not in problems
        ]

    def _updated(self, data: Data) -> list[Sentence]:
        before = self._devices.get(data["id"], {})
        subject = self._name(data["id"])
        self._devices[data["id"]] = data
        sentences = []
        if data["name"] != before.get("name"):
            sentences.append(Sentence(subject, f'renamed to "{data["name"]}"'))
        if data["connection_settings"] != before.get("connection_settings"):
            sentences.append(Sentence(subject, f'network changed to "{data["connection_settings"]["ssid"]}"'))
        camera = data["camera_address"]
        if camera is not None and camera != before.get("camera_address"):
            sentences.append(Sentence(subject, f"camera at {camera}, this host at {data['local_address']}"))
        if before.get("paired") is not None and data["paired"] not in (None, before["paired"]):
            sentences.append(Sentence(subject, "paired" if data["paired"] else "no longer paired"))
        return sentences + self._state_sentences(before, data)

    def _status(self, data: Data) -> list[Sentence]:
        device_id = data["id"]
        before = self._devices.get(device_id, {})
        if data["connection_status"] == "failed":  # which the next status repeats as a state
            self._shown[device_id] = what = _failed(data)
            return [Sentence(self._name(device_id), what, Style.BAD)]
        now = self._devices[device_id] = {**before, **data}
        return self._state_sentences(before, now)

    def _state_sentences(self, before: Data, now: Data) -> list[Sentence]:
        """The sentence about a device's state; none if that was shown already, or is about to end."""
        device_id = now["id"]
        what = _state_text(now)
        if now["connection_status"] == "disconnecting" or what == self._shown.get(device_id):
            return []
        self._shown[device_id] = what
        state, error = _state(now), _error(now)
        if state is CameraState.CONNECTING and before.get("connection_status") == "connected" and error:
            what += f" again: {error}"
        if state is CameraState.CONNECTED and before.get("recovery_step"):
            what += ", answering"
        elif state is CameraState.CONNECTED and before.get("device_reachability") == "unavailable":
            what += ", answering again"
        return [Sentence(self._name(device_id), what, STYLE_OF_STATE.get(state, Style.PLAIN))]

    def _interface(self, data: Data, *, new: bool) -> list[Sentence]:
        before = self._interfaces.get(data["name"], {})
        self._interfaces[data["name"]] = data
        members = ("state", "reason", "device_id", "reserved_device_id")
        is_same = not new and all(data[key] == before.get(key) for key in members)
        doubt = suspicion(data.get("health"), data.get("health_reason"))
        if is_same and doubt == suspicion(before.get("health"), before.get("health_reason")):
            return []
        if is_same and not doubt:
            what = "works" if data.get("health") == Health.GOOD else "no longer being checked"
            return [Sentence(data["name"], what)]
        state, keeper = data["state"], data["reserved_device_id"]
        reservation = "" if keeper is None else reserved_for(self._name(keeper))
        if state == InterfaceState.AVAILABLE and reservation:
            state, reservation = reservation, ""
        elif not reservation and before.get("reserved_device_id") is not None:
            reservation = "no longer reserved"
        what = f"plugged in, {state}" if new else str(state)
        if data["device_id"] is not None:
            what += f": {self._name(data['device_id'])}"
        elif data["reason"]:
            what += f": {data['reason']}"
        if doubt:
            what += f". {doubt}"
        if reservation and keeper != before.get("reserved_device_id"):
            what += f", {reservation}"
        style = Style.BUSY if doubt else STYLE_OF_STATE.get(data["state"], Style.PLAIN)
        return [Sentence(data["name"], what, style)]


def _recording_stopped(subject: str, reason: str) -> Sentence:
    """The end of a recording; a reason of a later version as it is."""
    known = {one.value: recording_ended(one) for one in StopReason}
    what = known.get(reason, f"The recording stopped: {reason}.").rstrip(".")
    style = Style.PLAIN if reason == StopReason.STOPPED else Style.BAD
    return Sentence(subject, what[:1].lower() + what[1:], style)


def _take_ended(data: Data) -> Sentence:
    """The cameras of a take that is over, each named once, and those that were missing."""
    names = dict.fromkeys(row["device_name"] or f"camera {row['device_id']}" for row in data["recordings"])
    missing = [one["device_name"] for one in data["missing"]]
    what = f"a take is over: {', '.join(names)}" + (f"; missing: {', '.join(missing)}" if missing else "")
    return Sentence("wifimgrd", what, Style.BAD if missing else Style.PLAIN)


def _state(data: Data) -> CameraState:
    return camera_state(
        data["connection_status"],
        reachable=data["device_reachability"] != "unavailable",
        waiting_since=data["waiting_since"],
        lost_at=data.get("lost_at"),
        error_code=data["connection_error_code"],
        recovery_step=data.get("recovery_step"),
    )


def _state_text(data: Data) -> str:
    """A device's state, with what belongs to it."""
    is_waking = data.get("connection_phase") == ConnectionPhase.WAKING
    match state := _state(data):
        case CameraState.WAITING:
            return f"{state} for a free adapter"
        case CameraState.RECOVERING:
            return recovering(data["recovery_step"])
        case CameraState.SEARCHING:
            return f"{state} for its network"
        case _ if state in _ENDED and is_waking:
            return "waking up"
        case CameraState.NOT_ANSWERING | CameraState.OFF:
            return state.value
        case _ if state in _ENDED:
            return _failed(data)
    what = f"{state} through {data['interface']}" if data["interface"] is not None else state.value
    return f"{what}, waking the camera" if is_waking else what


def _failed(data: Data) -> str:
    """How an attempt ended: the camera's state, and the reason."""
    word, error = of_error(data["connection_error_code"] or ""), _error(data)
    return f"{word}: {error}" if error else word.value


def _bluetooth(data: Data) -> Sentence:
    state, reason = data["bluetooth_state"], data["bluetooth_reason"]
    what = f"Bluetooth {state}: {reason}" if reason else f"Bluetooth {state}"
    return Sentence("wifimgrd", what, STYLE_OF_STATE.get(state, Style.PLAIN))


def _backend(data: Data) -> Sentence:
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
