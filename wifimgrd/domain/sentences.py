"""Sentences for people, made of codes and data in one place, so that all that show them agree."""

from __future__ import annotations

from typing import Final

from wifimgrd.domain.adapter import Adapter, AdapterPin, Mode
from wifimgrd.domain.device import DeviceId, Ssid


def title(device_id: DeviceId | int, name: str) -> str:
    """A device by its name and id; by its id alone where the name is not known."""
    return f'"{name}" (device {device_id})' if name else f"device {device_id}"


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


def name_is_taken(name: str) -> str:
    """Why a device cannot have a name."""
    return f'Another device is already named "{name}".'


def same_network(ssid: Ssid, device_id: DeviceId, name: str) -> str:
    """A network that is registered for another device, too."""
    return f'The network "{ssid.printable}" is also registered for {title(device_id, name)}.'


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
    wanted = f'named "{device}"' if isinstance(device, str) else f"with the id {device}"
    nobody = "but there is no such device, so any device can use it"
    sentence = f"{pin} is to be reserved for a device {wanted}, {nobody}"
    is_id = isinstance(device, str) and device.isascii() and device.isdigit()
    return f"{sentence} (an id has no quotation marks: device = {device})" if is_id else sentence


def disconnected_by_command() -> str:
    """Why a session ended that was ended on purpose."""
    return "Disconnected by a command."


def ended_while_stopped() -> str:
    """Why a session ended that did so while the hub did not run."""
    return "It ended while the hub was stopped; the time given is when it was last known to be up."


def restored_while_stopped() -> str:
    """Why a link was interrupted that came back while the hub did not run."""
    return "It was interrupted when the hub was stopped; its end is when the hub found it again."


def woken() -> str:
    """A wake that succeeded."""
    return "The camera was woken."


def adapter_plugged_in(interface: str, product: str) -> str:
    """An adapter appeared."""
    return f"The adapter {interface}{f' ({product})' if product else ''} was plugged in."


def adapter_unplugged(interface: str) -> str:
    """An adapter disappeared."""
    return f"The adapter {interface} was unplugged."


def adapter_recovery(interface: str, step: str) -> str:
    """Something is tried with an adapter that does not work."""
    return f"The adapter {interface} does not work; trying {step}."


def backend_state(backend: str, state: str, reason: str) -> str:
    """What joins networks came or went."""
    return f"{backend} is {state}{f': {reason}' if reason else ''}."
