"""Sentences for people, made of codes and data in one place, so that all that show them agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from wifimgrd.domain._findings import Want
from wifimgrd.domain.adapter import Adapter, AdapterPin, Mode
from wifimgrd.domain.camera import CameraReading, EndSeen, Problem, StopReason, stop_reason
from wifimgrd.domain.dead_links import Finding
from wifimgrd.domain.device import DeviceId, DeviceState, DeviceStatus, PowerState, Ssid
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.link_steps import PORT_STEPS, LinkStep, StepResult
from wifimgrd.domain.recovery import Condition, Health, Symptom


def title(device_id: DeviceId | int, name: str) -> str:
    """A camera by its name; by its id if the name is not known."""
    return f'"{name}"' if name else f"camera {device_id}"


SHARES_RADIO: Final = "shares the radio of "
"""So begins why an interface is unavailable that does not stand for its adapter."""


def in_use_by(device_id: DeviceId, name: str) -> str:
    """Why an interface is not free, as a sentence's end."""
    return f"in use by {title(device_id, name)}"


def shares_radio(leader: Adapter, *, is_foreign: bool) -> str:
    """Why an interface is not free, as a predicate; `is_foreign` where another program uses the leader."""
    who = "another program uses" if leader.mode is Mode.STATION else f"is {leader.mode}"
    return f"{SHARES_RADIO}{leader.name}" + (f", which {who}" if is_foreign else "")


def reserved_for(device_id: DeviceId, name: str) -> str:
    """Why an interface is not for another device, as a sentence's end."""
    return f"reserved for {title(device_id, name)}"


def needed_for(device_id: DeviceId, name: str) -> str:
    """Why an interface that is being freed is not for another device, as a sentence's end."""
    return f"needed for {title(device_id, name)}"


def not_in_group(group: str, device: DeviceId | str) -> str:
    """A group that names a device that is not registered."""
    return (
        f'the group "{group}" has a camera {_wanted(device)}, but there is no such camera{_id_hint(device)}'
    )


def missing_in_group(group: str, devices: Sequence[str]) -> str:
    """The names, and the ids in digits, of a group that are of no registered device."""
    return f'The group "{group}" has cameras that this hub does not have: {", ".join(devices)}.'


def asleep(device_id: DeviceId) -> str:
    """A camera that sleeps, and what to do about it."""
    return f"the camera is asleep: wake it, such as by wifimgrctl wake {device_id}"


def name_is_taken(name: str) -> str:
    """Why a device cannot have a name."""
    return f'Another camera is already named "{name}".'


def same_network(ssid: Ssid, device_id: DeviceId, name: str) -> str:
    """A network that is registered for another device, too."""
    return f'The network "{ssid.printable}" is also registered for {title(device_id, name)}.'


def unknown_model(codename: str, closest: str) -> str:
    """A codename that is not in the catalog."""
    hint = f"; the closest one is {closest}" if closest else ""
    return f'The model "{codename}" is not in the catalog{hint}.'


def pin_overruled(pin: AdapterPin) -> str:
    """A pin of a device's own that is not used."""
    return f"It is pinned to {pin}, but a pin in the configuration takes precedence."


def no_adapter_to_reserve(pin: AdapterPin) -> str:
    """A reservation whose adapter is not there."""
    return f"It has {pin} reserved, but no such adapter is plugged in."


def reserved_otherwise(pin: AdapterPin, device_id: DeviceId, name: str) -> str:
    """A reservation that comes after another one for the same adapter."""
    return f"It is pinned to {pin}, but that is {reserved_for(device_id, name)}."


def reserved_for_no_device(pin: AdapterPin, device: DeviceId | str) -> str:
    """A rule of the configuration that names no device."""
    nobody = "but there is no such camera, so any camera can use it"
    sentence = f"{pin} is to be reserved for a camera {_wanted(device)}, {nobody}"
    return sentence + _id_hint(device)


def _wanted(device: DeviceId | str) -> str:
    return f'named "{device}"' if isinstance(device, str) else f"with the id {device}"


def _id_hint(device: DeviceId | str) -> str:
    """For a name in the configuration that looks like an id."""
    is_id = isinstance(device, str) and device.isascii() and device.isdigit()
    return f" (an id has no quotation marks: {device})" if is_id else ""


def disconnected_by_command() -> str:
    """Why a session ended that was ended on purpose."""
    return "Disconnected by a command."


def ended_while_stopped() -> str:
    """Why a session ended that did so while the hub did not run."""
    return "It ended while the hub was stopped; the time given is when it was last known to be up."


def problem_ended_unseen(problem: str) -> str:
    """The message of a problem, whose sentence that is, whose end did not reach the history."""
    return f"{problem} Its end was not seen; the time given is when it was last known to last.".lstrip()


def recording_ended_unrecorded() -> str:
    """The message of a recording that ended while no history was kept."""
    return "It stopped while no history was kept; the time given is when it was last known to record."


def restored_while_stopped() -> str:
    """Why a link was interrupted that came back while the hub did not run."""
    return "It was interrupted when the hub was stopped; its end is when the hub found it again."


def woken() -> str:
    """A wake that succeeded."""
    return "The camera was woken."


_ENDS: Final = {
    EndSeen.SWITCHED_OFF: "The recording stopped: the camera was switched off.",
    EndSeen.LATER: "The recording stopped while the hub could not see it; why is not known.",
    EndSeen.NEVER: "The camera was removed, and the recording was not seen to stop.",
}


def recording_ended(reason: StopReason, seen: EndSeen = EndSeen.DIRECTLY, link_error: str = "") -> str:
    """Why a recording ended; `link_error` is why the camera's link had ended during it, if it had."""
    if reason is StopReason.UNKNOWN and seen is EndSeen.LATER and link_error:
        return _ended(f"The recording stopped while the camera was not connected: {link_error}")
    if reason is StopReason.UNKNOWN and seen in _ENDS:
        return _ENDS[seen]
    return {
        StopReason.STOPPED: "The recording was stopped.",
        StopReason.FULL: "The recording stopped: the card is full.",
        StopReason.BATTERY: "The recording stopped: the battery is empty.",
        StopReason.TOO_HOT: "The recording stopped: the camera is too hot.",
        StopReason.SLOW_CARD: "The recording stopped: the card is too slow.",
        StopReason.UNKNOWN: "The recording stopped; why is not known.",
    }[reason]


def is_end_seen(message: str) -> bool:
    """Whether a recording ended at the time that its row has, by the message of that; else it was over by
    then, when the hub could see it again."""
    return not message.startswith("The recording stopped while ")


def recording_refused(message: str, *, on: bool) -> str:
    """Why a camera did not do as it was told."""
    return _ended(f"It did not {'start' if on else 'stop'} recording: {message}")


def _ended(sentence: str) -> str:
    """With one full stop: what a camera says may have its own."""
    return f"{sentence.rstrip('.')}."


def recorded_on_many(results: Sequence[tuple[str, str | None]], *, on: bool) -> list[str]:
    """The outcome of a command to several cameras, each with its name and the code of its error: how many do
    what was wanted, which of the others are not connected, and which may have done it."""
    done = sum(code is None for _, code in results)
    told = [f"{done} of {len(results)} cameras {'record' if on else 'have stopped'}."]
    for what, wanted in (("Not connected", ErrorCode.NOT_CONNECTED), ("Not known", ErrorCode.UNCONFIRMED)):
        if names := [name for name, code in results if code == wanted]:
            told.append(f"{what}: {', '.join(names)}.")
    return told


_PROBLEMS: Final = {
    Problem.NOT_RECORDING: "It should record and does not",
    Problem.STILL_RECORDING: "It records, though it was told to stop.",
    Problem.RECORDING_UNCONFIRMED: "It is not known whether it has done the last command to record or stop.",
    Problem.UNSTABLE: "What it says of itself changes all the time.",
    Problem.TOO_HOT: "It is too hot.",
    Problem.TOO_COLD: "It is too cold.",
    Problem.BATTERY_LOW: "Its battery is low",
    Problem.STORAGE_MISSING: "It has no card.",
    Problem.STORAGE_FULL: "Its card is full.",
    Problem.STORAGE_ERROR: "Its card cannot be used.",
    Problem.STORAGE_SLOW: "Its card is too slow.",
    Problem.STORAGE_LOW: "Its card is almost full",
    Problem.CLOCK_WRONG: "Its clock is wrong",
}
_CAUSES: Final = {
    StopReason.STOPPED: "it was stopped at the camera",
    StopReason.FULL: "its card is full",
    StopReason.BATTERY: "its battery is empty",
    StopReason.TOO_HOT: "it is too hot",
    StopReason.SLOW_CARD: "its card is too slow",
    StopReason.UNKNOWN: "it does not say why",
}


def camera_problem(problem: Problem, reading: CameraReading) -> str:
    """A camera's problem as a sentence, with its cause or its value."""
    text = _PROBLEMS[problem]
    if text.endswith("."):
        return text
    match problem:
        case Problem.NOT_RECORDING:
            return f"{text}: {_CAUSES[stop_reason(reading, commanded=False)]}."
        case Problem.BATTERY_LOW if reading.battery_level is not None:
            return f"{text}: {reading.battery_level} %."
        case Problem.STORAGE_LOW if reading.time_left_s is not None:
            return f"{text}: it can record for {_minutes(reading.time_left_s)} more."
        case Problem.CLOCK_WRONG if reading.clock_offset_us is not None:
            return f"{text}, by {abs(reading.clock_offset_us) // 1_000_000} s."
        case _:  # the value is not known, or held
            return f"{text}."


def _minutes(seconds: int) -> str:
    """A duration to the minute, below one in seconds."""
    return f"{seconds // 60} min" if seconds >= 60 else f"{max(0, seconds)} s"


def _asked(problem: Problem, reading: CameraReading, limit: int) -> str | None:
    """The value of a camera that does not meet a limit, and the limit; None if the value is not known."""
    if problem is Problem.BATTERY_LOW and reading.battery_level is not None:
        return f"Its battery is at {reading.battery_level} %; {limit} % are asked for."
    if problem is Problem.STORAGE_LOW and reading.time_left_s is not None:
        minutes = limit // 60_000_000
        asked = "1 min is" if minutes == 1 else f"{_minutes(limit // 1_000_000)} are"
        return f"It can record for {_minutes(reading.time_left_s)}; {asked} asked for."
    if problem is Problem.CLOCK_WRONG and reading.clock_offset_us is not None:
        offset_ms, limit_ms = abs(reading.clock_offset_us) // 1000, limit // 1000
        return f"Its clock is off by {offset_ms} ms; at most {limit_ms} ms are asked for."
    return None


_WANTS: Final = {
    Want.NOT_CONNECTED: "It is not connected.",
    Want.NOT_ANSWERING: "It is connected, and does not answer.",
    Want.RECORDING_UNKNOWN: "Whether it records is not known.",
    Want.BATTERY_UNKNOWN: "How full its battery is is not known.",
    Want.STORAGE_UNKNOWN: "How long it can record is not known.",
    Want.CLOCK_UNKNOWN: "How far its clock is off is not known.",
}


def check_finding(code: Want | Problem, status: DeviceStatus, limit: int | None = None) -> str:
    """A finding of a check, as a sentence; `limit` is that of its value, if one was asked for: percent, or
    microseconds."""
    camera, power, failure = status.camera, status.power, status.device.failure
    step = status.recovery_step
    if step is not None and (code is Want.NOT_CONNECTED or code is Want.NOT_ANSWERING):
        return f"The hub is {STEP_WORDS[step]}."
    if code is Want.NOT_CONNECTED:
        if status.state is DeviceState.CONNECTING:
            return "It is being connected."
        if power is not None and power.state is PowerState.ASLEEP:
            return "It is asleep."
        # How the last link ended is of the past: the hub may have come back since.
        if status.device.waiting_since_us:
            return "It waits for a free adapter."
        if status.lost_us:
            return "It was lost: the hub searches for its network."
        return _WANTS[code] if failure is None else _ended(f"{_WANTS[code][:-1]}: {failure.message}")
    if isinstance(code, Want) or camera is None:
        return _WANTS[Want(code)]
    if code is Problem.NOT_RECORDING and code not in camera.problems:
        return "It does not record."
    asked = None if limit is None else _asked(code, camera.reading, limit)
    return asked or camera_problem(code, camera.reading)


_NAMES_IN_A_CLAUSE: Final = 3
_CLAUSES: Final = 3
_IN_BRIEF: Final[Mapping[str, tuple[str, str]]] = {
    Want.NOT_CONNECTED: ("is not connected", "are not connected"),
    Want.NOT_ANSWERING: ("does not answer", "do not answer"),
    Problem.NOT_RECORDING: ("does not record", "do not record"),
    Problem.STILL_RECORDING: ("still records", "still record"),
    Problem.RECORDING_UNCONFIRMED: ("may not do as it was told", "may not do as they were told"),
    Problem.UNSTABLE: ("contradicts itself", "contradict themselves"),
    Problem.TOO_HOT: ("is too hot", "are too hot"),
    Problem.TOO_COLD: ("is too cold", "are too cold"),
    Problem.BATTERY_LOW: ("has a low battery", "have low batteries"),
    Problem.STORAGE_MISSING: ("has no card", "have no card"),
    Problem.STORAGE_FULL: ("has a full card", "have full cards"),
    Problem.STORAGE_ERROR: ("has an unusable card", "have unusable cards"),
    Problem.STORAGE_SLOW: ("has a slow card", "have slow cards"),
    Problem.STORAGE_LOW: ("has an almost full card", "have almost full cards"),
    Problem.CLOCK_WRONG: ("has a wrong clock", "have wrong clocks"),
    Want.RECORDING_UNKNOWN: ("does not say whether it records", "do not say whether they record"),
    Want.BATTERY_UNKNOWN: ("does not tell its battery", "do not tell their batteries"),
    Want.STORAGE_UNKNOWN: ("does not tell its time left", "do not tell their time left"),
    Want.CLOCK_UNKNOWN: ("does not tell its clock", "do not tell their clocks"),
}
"""A finding at one camera, and at several."""
_NOT_READY: Final = ("is not ready", "are not ready")
"""The same by a code of a later version."""


HUB_AWAY: Final = "The hub does not answer."
"""Whether the rig is ready, while the daemon is away."""


def readiness(cameras: Mapping[int, str], findings: Sequence[tuple[int, str]]) -> str:
    """Whether cameras are ready, in one sentence that can be read from afar: `cameras` are their names by id,
    `findings` the ids and codes of what stands in the way, the most urgent first. Of each camera it has that
    one only."""
    if not cameras:
        return "There is no camera to check."
    worst: dict[int, str] = {}
    for camera, code in findings:
        worst.setdefault(camera, code)
    together: dict[str, list[str]] = {}
    for camera, code in worst.items():
        together.setdefault(code, []).append(cameras[camera])
    if len(cameras) == 1:
        [name] = cameras.values()
        return f"{_in_brief(next(iter(together)), [name]) if worst else f'{name} is ready'}."
    if not worst:
        return "Both cameras are ready." if len(cameras) == 2 else f"All {len(cameras)} cameras are ready."
    told = [_in_brief(code, names) for code, names in together.items()]
    if len(worst) == len(cameras) and len(together) == 1:
        told = [f"they {_IN_BRIEF.get(next(iter(together)), _NOT_READY)[1]}"]
    elif len(told) > _CLAUSES:
        more = sum(len(names) for names in list(together.values())[_CLAUSES:])
        told[_CLAUSES:] = [f"{more} more {_NOT_READY[more > 1]}"]
    ready = len(cameras) - len(worst)
    count = f"{ready or 'None'} of {len(cameras)} cameras {'are' if ready > 1 else 'is'} ready"
    return f"{count}: {', '.join(told)}."


def _in_brief(code: str, names: Sequence[str]) -> str:
    one, several = _IN_BRIEF.get(code, _NOT_READY)
    if len(names) == 1:
        return f"{names[0]} {one}"
    more = len(names) - _NAMES_IN_A_CLAUSE
    if more > 1:  # one more is as short as its name
        return f"{', '.join(names[:_NAMES_IN_A_CLAUSE])} and {more} others {several}"
    return f"{', '.join(names[:-1])} and {names[-1]} {several}"


def adapter_plugged_in(interface: str, product: str) -> str:
    """An adapter appeared."""
    return f"The adapter {interface}{f' ({product})' if product else ''} was plugged in."


def adapter_unplugged(interface: str, step: str = "") -> str:
    """An adapter disappeared, during a recovery step of its port if that runs."""
    return f"The adapter {interface} {f'went away during {step}' if step else 'was unplugged'}."


def adapter_recovery(interface: str, step: str) -> str:
    """Something is tried with an adapter that does not work."""
    return f"The adapter {interface} does not work; trying {step}."


_SINCE: Final = {
    Symptom.CRASHED: "its firmware crashed at {}",
    Symptom.FAILS_TO_JOIN: "joins fail since {}",
    Symptom.SILENT: "it receives nothing since {}",
    Symptom.DEAD_LINK: "its link was up and dead at {}",
}


def adapter_condition(condition: Condition, clock: Callable[[float], str]) -> str:
    """Why an adapter may not work; empty if nothing is wrong with it. `clock` writes its times."""
    if condition.symptom is None:
        return ""
    text = _SINCE[condition.symptom].format(clock(condition.since_s))
    if condition.health is Health.QUARANTINED:
        return f"{text}; not used until {clock(condition.until_s)}, or until it is plugged in again"
    if condition.step is None:
        return text
    return f"{text}; {condition.step} {'runs' if condition.health is Health.RECOVERING else 'was tried'}"


STEP_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        LinkStep.REJOIN: "joining the camera's network again",
        LinkStep.OTHER_ADAPTER: "joining the camera's network through another adapter",
        LinkStep.RESET_PORT: "resetting the USB port of the camera's adapter",
        LinkStep.POWER_PORT: "switching the USB port of the camera's adapter off and on",
        LinkStep.CAMERA_ACCESS_POINT: "restarting the camera's access point",
        LinkStep.REBOOT_CAMERA: "rebooting the camera",
    }
)
"""The words for each recovery step: the hub is ..."""
_BY_COMMAND: Final = "By a command."
_HAS_HELPED: Final = {StepResult.CAME_BACK: " has helped", StepResult.DID_NOT: " has not helped"}
_RESULTS: Final = {
    StepResult.CAME_BACK: "the camera answers",
    StepResult.DID_NOT: "the camera has not come back",
    StepResult.NOT_KNOWN: "whether that has helped is not known",
}


def step_by_command(finding: Finding, *, is_silent: bool) -> str:
    """Why a step was taken for a camera that somebody has commanded."""
    return f"{_BY_COMMAND} {finding.value}" if is_silent else _BY_COMMAND


def link_step_ended(
    why: str, step: str, result: StepResult, *, before: str, through: str, failure: str = ""
) -> str:
    """A step for a camera whose link was up and dead: why it was taken, and what has come of it. `before` and
    `through` are the interfaces of the link before and after it, `failure` is why the step has failed."""
    is_elsewhere, was_silent = through not in ("", before), why != _BY_COMMAND
    words, told = _step(step), _RESULTS[result]
    if result is StepResult.CAME_BACK and was_silent:
        told += " again"
    if result is StepResult.CAME_BACK and is_elsewhere:
        told += f", through {through}"
    if failure:
        return f"{why} {words} has failed: {failure}. {told[:1].upper()}{told[1:]}."
    if result is StepResult.CAME_BACK and is_elsewhere and step in PORT_STEPS:
        return f"{why} {words}: {told}, and not through {before}."
    return f"{why} {words}{_HAS_HELPED.get(result, '') if was_silent else ''}: {told}."


def _step(step: str) -> str:
    """The words for a recovery step as the begin of a sentence."""
    words = STEP_WORDS.get(step, step)
    return words[:1].upper() + words[1:]


def taken_down() -> str:
    """Why a session ended whose link a recovery step had taken down."""
    return "a recovery step took the link down, and it did not come back"


def step_unseen(why: str, step: str) -> str:
    """A step that ran when the hub was stopped."""
    return f"{why} {_step(step)}: the hub was stopped meanwhile."


def found_by_another(network: Ssid, interface: str, other: str) -> str:
    """Why a camera was not reached through an adapter that may not work."""
    return (
        f'{interface} did not find the network "{network.printable}", {other} does: the adapter {interface}'
        " is being checked"
    )


def backend_state(backend: str, state: str, reason: str) -> str:
    """The state of the backend, which joins networks, as a sentence."""
    return f"{backend} is {state}{f': {reason}' if reason else ''}."
