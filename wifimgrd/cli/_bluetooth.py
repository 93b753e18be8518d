"""`wifimgrctl bluetooth`: the cameras that are heard over Bluetooth, and a check that it works."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from wifimgrd.cli._finding import find_device
from wifimgrd.cli._hub_arguments import SEARCH_S
from wifimgrd.cli._outcome import progress, title
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Column, Row
from wifimgrd.cli._text import Style, safe
from wifimgrd.client.commands import carry_out
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import BluetoothDeviceJson
from wifimgrd.domain.commands import WAKE
from wifimgrd.domain.device import DeviceState, PowerState
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.domain.power import BluetoothState
from wifimgrd.domain.records import BluetoothRecord, DeviceRecord, ServiceRecord

_HEADS: Final = (
    Column("NO.", is_optional=True),
    Column("ADDRESS"),
    Column("NAME", least=12),
    Column("MODEL", rank=4, is_optional=True),
    Column("POWER", rank=1, is_optional=True),
    Column("PAIRING", rank=2),
    Column("SIGNAL", rank=5),
    Column("CAMERA", rank=3),
)
_STEP: Final = "   "
"""The indent of all lines of a step but the first."""
_WAKE_S: Final = 130.0
"""Longer than the hub's own limits."""
_NONE_HEARD: Final = "No camera was heard over Bluetooth lately. Search: wifimgrctl bluetooth search"
_NONE_FOUND: Final = (
    "No camera was heard. Switch its Bluetooth or its wireless connections on, and bring it within 10 m."
)
_HOW_TO_PAIR: Final = (
    "open the camera's menu for a new connection to a phone (GoPro: Connections, Connect Device, GoPro"
    " Quik App), and leave it open"
)
_WAYS_TO_READY: Final[Mapping[str, str]] = {
    BluetoothState.ABSENT: "plug in a Bluetooth adapter, and install the packages wifimgrd-camera and bluez",
    BluetoothState.OFF: "rfkill unblock bluetooth, and systemctl start bluetooth",
}


async def bluetooth(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """List the cameras that were heard, search for them, or check that Bluetooth works."""
    match arguments.action:
        case "check":
            return await _check(hub, arguments, screen)
        case "search":
            screen.hint(f"Searching for {arguments.seconds} s ...")
            found, otherwise = await hub.search_bluetooth(arguments.seconds), _NONE_FOUND
        case _:
            screen.hint(_host_text(hub.service))
            found = await hub.bluetooth_devices()
            otherwise = _NONE_HEARD if hub.service.bluetooth_state == BluetoothState.READY else ""
    if not found and not screen.json:
        if otherwise:
            screen.hint(otherwise)
        return True
    screen.show(list(map(BluetoothDeviceJson.of, found)), bluetooth_view(found, hub.devices, screen))
    return True


def bluetooth_view(
    found: Iterable[BluetoothRecord],
    devices: Mapping[int, DeviceRecord],
    screen: Screen,
    *,
    is_numbered: bool = False,
) -> list[str]:
    """The table of cameras that were heard, with a number for each to choose one by."""
    rows: list[Row] = [
        (
            number if is_numbered else None,
            one.address,
            one.name,
            one.codename,
            one.power_state,
            "ready" if one.pairing_mode else None,
            None if one.rssi is None else f"{one.rssi} dBm",
            None if one.device_id is None else _device_title(one.device_id, devices),
        )
        for number, one in enumerate(found, 1)
    ]
    return screen.table(_HEADS, rows)


def _device_title(device_id: int, devices: Mapping[int, DeviceRecord]) -> str:
    device = devices.get(device_id)
    return str(device_id) if device is None else f"{device.id} {device.name}"


def _host_text(service: ServiceRecord) -> str:
    """Whether this host has Bluetooth, and why not."""
    reason = f": {safe(service.bluetooth_reason)}" if service.bluetooth_reason else ""
    return f"Bluetooth on this host is {service.bluetooth_state}{reason}"


# -- the camera of `add --bluetooth`


async def choose_camera(hub: HubClient, screen: Screen) -> str | None:
    """The address of the camera to register: the only one in pairing mode, or the one that a person at a
    terminal chooses. None after printing why there is none.

    Raises BluetoothUnavailable, Busy.
    """
    screen.hint(f"Searching for cameras in pairing mode for {SEARCH_S} s ...")
    found = await hub.search_bluetooth(SEARCH_S)
    ready = [one for one in found if one.pairing_mode and one.device_id is None]
    if not ready:
        screen.fail(ErrorCode.PAIRING_FAILED, f"no new camera in pairing mode was heard; {_HOW_TO_PAIR}")
        return None
    if len(ready) == 1:
        screen.hint(f"Found {_heard_title(ready[0])}.")
        return ready[0].address
    if not screen.can_ask:
        named = ", ".join(map(_heard_title, ready))
        screen.fail(
            ErrorCode.PAIRING_FAILED,
            f"several cameras are in pairing mode; give the address of one, as in --bluetooth"
            f" {ready[0].address}: {named}",
        )
        return None
    for line in bluetooth_view(ready, hub.devices, screen, is_numbered=True):
        screen.hint(line)
    while True:
        answer = await screen.ask(f"Which one, 1 to {len(ready)}?")
        if answer.isascii() and answer.isdecimal() and 1 <= int(answer[:4]) <= len(ready):
            return ready[int(answer) - 1].address
        if not answer:
            screen.fail(ErrorCode.CANCELLED, "no camera was chosen")
            return None


def _heard_title(one: BluetoothRecord) -> str:
    return f"{safe(one.name)} ({one.address})" if one.name else one.address


# -- the check


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the check."""

    what: str
    is_passed: bool | None
    """None if it could not be tried, or asks the owner for something."""
    advice: str = ""
    """The next thing to do; empty if there is nothing."""


async def _check(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Go through the steps, each printed when it is known. False if one has failed."""
    wanted = None if arguments.device is None else find_device(hub.devices, arguments.device)
    steps: list[Step] = []
    found: list[BluetoothRecord] = []

    def tell(*more: Step) -> None:
        for step in more:
            steps.append(step)
            if not screen.json:
                screen.show(None, _lines(len(steps), step, screen))

    tell(host_step(hub.service))
    if steps[0].is_passed:
        screen.hint(f"Searching for {arguments.seconds} s ...")
        try:
            found = await hub.search_bluetooth(arguments.seconds)
        except WifimgrdError as error:
            tell(Step(f"The search failed: {error.message}", is_passed=False))
        else:
            tell(heard_step(found))
            if found and not screen.json:
                room = None if screen.columns is None else screen.columns - len(_STEP)
                view = bluetooth_view(found, hub.devices, replace(screen, columns=room))
                screen.show(None, [f"{_STEP}{line}" for line in view])
            if wanted is None:
                tell(*camera_steps(found, hub.devices.values()))
            else:
                tell(*device_steps(found, [hub.devices.get(wanted.id, wanted)]))
        if wanted is not None:
            tell(await _wake_step(hub, wanted, screen))
    value = {
        "bluetooth_state": hub.service.bluetooth_state,
        "bluetooth_reason": hub.service.bluetooth_reason,
        "bluetooth_devices": list(map(BluetoothDeviceJson.of, found)),
        "steps": [{"what": one.what, "passed": one.is_passed, "advice": one.advice} for one in steps],
    }
    screen.show(value, [])
    return not any(step.is_passed is False for step in steps)


def _lines(number: int, step: Step, screen: Screen) -> list[str]:
    word, style = {
        True: ("passed", Style.GOOD),
        False: ("FAILED", Style.BAD),
        None: ("open", Style.BUSY),
    }[step.is_passed]
    lines = [f"{number}. {screen.styled(word, style)}: {safe(step.what)}"]
    return [*lines, f"{_STEP}Next: {safe(step.advice)}"] if step.advice else lines


def host_step(service: ServiceRecord) -> Step:
    """Whether this host has Bluetooth."""
    is_ready = service.bluetooth_state == BluetoothState.READY
    return Step(_host_text(service), is_ready, _WAYS_TO_READY.get(service.bluetooth_state, ""))


def heard_step(found: Sequence[BluetoothRecord]) -> Step:
    """Whether any camera was heard."""
    if not found:
        return Step(
            "No camera was heard",
            is_passed=False,
            advice="switch the camera's Bluetooth or wireless connections on, switch it on and off once, and"
            " bring it within 10 m; then check again",
        )
    return Step(f"{len(found)} camera{'s were' if len(found) > 1 else ' was'} heard", is_passed=True)


def device_steps(found: Sequence[BluetoothRecord], devices: Iterable[DeviceRecord]) -> list[Step]:
    """One step for each device that can be woken: whether it is paired, and whether it was heard."""
    steps = []
    heard = {one.device_id for one in found if one.device_id is not None}
    for device in devices:
        if device.auto_wake is None:
            continue
        if device.paired is False:
            steps.append(
                Step(
                    f"{title(device)} is not paired with this hub",
                    is_passed=None,
                    advice=f"{_HOW_TO_PAIR}; then wifimgrctl pair {device.id}",
                )
            )
            continue
        known = "is paired" if device.paired else "needs no pairing"
        if device.id in heard:
            state = f" and {device.power_state}" if device.power_state else ""
            text = f"{title(device)} {known}, was heard{state}"
            steps.append(Step(text, is_passed=True, advice=_next_of(device)))
        else:
            steps.append(Step(f"{title(device)} {known}, was not heard", None, _next_of(device)))
    return steps


def camera_steps(found: Sequence[BluetoothRecord], devices: Iterable[DeviceRecord]) -> list[Step]:
    """The steps of registered devices that can be woken, and of cameras that can be registered."""
    steps = device_steps(found, devices)
    is_none_able = not steps
    new = [one for one in found if one.pairing_mode and one.device_id is None]
    steps += [
        Step(
            f"{_heard_title(one)} is in pairing mode, and is not paired",
            is_passed=None,
            advice=f"wifimgrctl add --bluetooth {one.address}; if it is registered, wifimgrctl pair DEVICE",
        )
        for one in new
    ]
    steps += [
        Step(
            f"{_heard_title(one)} is not registered, and not in pairing mode",
            is_passed=None,
            advice="if its model needs no pairing, wifimgrctl add --ssid SSID; else pairing mode",
        )
        for one in found
        if one.device_id is None and not one.pairing_mode
    ]
    if is_none_able and not found:
        steps.append(
            Step(
                "No registered camera can be woken over Bluetooth",
                is_passed=None,
                advice=f"{_HOW_TO_PAIR}; then wifimgrctl add --bluetooth",
            )
        )
    return steps


def _next_of(device: DeviceRecord) -> str:
    """The next thing for the owner to try with a device."""
    if device.state != DeviceState.DISCONNECTED:
        return f"wifimgrctl disconnect {device.id}, let it fall asleep, and check again"
    if device.power_state == PowerState.AWAKE:
        return f"let it fall asleep, or wifimgrctl sleep {device.id}; then check again"
    return f"wifimgrctl bluetooth check {device.id}, which wakes it"


async def _wake_step(hub: HubClient, device: DeviceRecord, screen: Screen) -> Step:
    """Wake a camera, and say how long that took."""
    device = hub.devices.get(device.id, device)
    if device.state != DeviceState.DISCONNECTED or device.power_state == PowerState.AWAKE:
        word = device.state if device.state != DeviceState.DISCONNECTED else "awake"
        return Step(f"{title(device)} is {word}, so there is nothing to wake", None, _next_of(device))
    began = time.monotonic()
    try:
        async with progress(lambda: hub.devices.get(device.id), screen):
            outcome = await carry_out(hub, WAKE, device.id, wait_s=_WAKE_S)
    except WifimgrdError as error:
        failed = f"{title(device)} did not wake: {error.message} ({error.code})"
        return Step(failed, is_passed=False, advice=_ADVICE.get(error.code, "").format(id=device.id))
    took = time.monotonic() - began
    if not outcome.is_done:
        return Step(f"{title(device)} has not woken within {took:.0f} s", is_passed=False)
    return Step(
        f"{title(device)} woke within {took:.1f} s",
        is_passed=True,
        advice=f"wifimgrctl connect {device.id}; to have it woken by every attempt:"
        f" wifimgrctl set {device.id} --auto-wake yes",
    )


_ADVICE: Final[Mapping[str, str]] = {
    ErrorCode.NOT_PAIRED: f"{_HOW_TO_PAIR}; then wifimgrctl pair {{id}}",
    ErrorCode.NOT_SUPPORTED: "wifimgrctl models lists the models; wifimgrctl set {id} --codename MODEL",
    ErrorCode.WAKE_FAILED: "bring the camera within 10 m, and look whether its setting for Bluetooth or for"
    " waking it by a remote is on; then wifimgrctl bluetooth check {id}",
    ErrorCode.BLUETOOTH_UNAVAILABLE: "wifimgrctl bluetooth check",
}
