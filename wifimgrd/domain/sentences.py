"""Sentences for people, made of codes and data in one place, so that all that show them agree."""

from __future__ import annotations

from collections.abc import Callable

from wifimgrd.domain.adapter import AdapterPin
from wifimgrd.domain.device import DeviceId, Ssid


def title(device_id: DeviceId | int, name: str) -> str:
    """A device by its name and id; by its id alone where the name is not known."""
    return f'"{name}" (device {device_id})' if name else f"device {device_id}"


def in_use_by(device_id: DeviceId, name: str) -> str:
    """Why an interface is not free, as a sentence's end."""
    return f"in use by {title(device_id, name)}"


def reserved_for(device: DeviceId | str, name_of: Callable[[DeviceId], str]) -> str:
    """Why an interface is not for a device, as a sentence's end; `device` is an id or a name."""
    return (
        f'reserved for "{device}"'
        if isinstance(device, str)
        else f"reserved for {title(device, name_of(device))}"
    )


def name_is_taken(name: str) -> str:
    """Why a device cannot have a name."""
    return f'Another device is called "{name}".'


def same_network(ssid: Ssid, device_id: DeviceId, name: str) -> str:
    """A network that is registered for another device, too."""
    return f'The network "{ssid.printable}" is registered for {title(device_id, name)}, too.'


def pin_overruled(pin: AdapterPin) -> str:
    """A pin of a device's own that is not used."""
    return f"It is pinned to {pin}, but the configuration pins otherwise, and goes before."


def disconnected_by_command() -> str:
    """Why a session ended that was ended on purpose."""
    return "It was disconnected by a command."


def ended_while_stopped() -> str:
    """Why a session ended that did so while the hub did not run."""
    return "It ended while the hub was stopped; its end is when it was last known to last."


def adapter_plugged_in(interface: str, product: str) -> str:
    """An adapter appeared."""
    return f"The adapter {interface}{f' ({product})' if product else ''} was plugged in."


def adapter_unplugged(interface: str) -> str:
    """An adapter disappeared."""
    return f"The adapter {interface} was pulled out."


def adapter_recovery(interface: str, step: str) -> str:
    """Something is tried with an adapter that does not work."""
    return f"The adapter {interface} does not work: {step} is tried."


def backend_state(backend: str, state: str, reason: str) -> str:
    """What joins networks came or went."""
    return f"{backend} is {state}{f': {reason}' if reason else ''}."
