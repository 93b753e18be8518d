"""Which adapter is kept for which device: by the configuration (`[[interfaces.reserve]]`) or a device's pin.

The rules of the configuration come first, as they are written, then the pins of devices in order of id: an
adapter is kept for the device of the first reservation that names it. A rule that names no device reserves
nothing. A pin is not used if a rule has another adapter for its device, or another device for its adapter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from wifimgrd.domain.adapter import AdapterIdentity, AdapterPin
from wifimgrd.domain.device import DeviceId


@dataclass(frozen=True, slots=True)
class ReservationRule:
    """`[[interfaces.reserve]]`: an adapter, and the device, by id or name, that it is for."""

    device: DeviceId | str
    pin: AdapterPin


@dataclass(frozen=True, slots=True)
class Reservation:
    """Keeps an adapter for a registered device."""

    device: DeviceId
    pin: AdapterPin


@dataclass(frozen=True, slots=True)
class AbsentAdapter:
    """An adapter that is kept for a device, or was there since the hub's start, and is not plugged in."""

    device: DeviceId | None
    """The device that it is kept for."""
    pin: AdapterPin
    """By which it is kept; of one that is kept for nobody all that is known of it."""
    interface: str = ""
    """The name of its interface when it was last present; empty where it was not since the hub's start."""
    product: str = ""
    unplugged_us: int = 0
    """When it was unplugged, in microseconds since the epoch; 0 = not known."""
    last_device: DeviceId | None = None
    """The device that used it last; None where it was not there since the hub's start, or nobody did."""


@dataclass(frozen=True, slots=True)
class Reservations:
    """All reservations of the hub's devices."""

    ordered: tuple[Reservation, ...] = ()
    """Those in effect; of two for one adapter the first counts."""
    of_no_device: tuple[ReservationRule, ...] = ()
    """The rules that name no registered device."""
    overruled: frozenset[DeviceId] = frozenset()
    """The devices whose own pin is not used, since a rule contradicts it."""

    def device_for(self, identities: Collection[AdapterIdentity]) -> DeviceId | None:
        """The device for which an adapter is kept, or None; each of its interfaces has an identity."""
        return next((one.device for one in self.ordered if any(map(one.pin.is_of, identities))), None)


def reservations_of(
    rules: Sequence[ReservationRule], names: Mapping[DeviceId, str], pins: Mapping[DeviceId, AdapterPin]
) -> Reservations:
    """The reservations that follow from the configuration's rules, at least the names of the devices
    that these refer to, and the pins of all devices."""
    ids: dict[DeviceId | str, DeviceId] = {name: one for one, name in names.items()} if rules else {}
    ids.update((one, one) for one in names)
    ruled = [Reservation(ids[rule.device], rule.pin) for rule in rules if rule.device in ids]
    own = [Reservation(device, pins[device]) for device in sorted(pins)]
    used = [one for one in own if _is_used(one, ruled)]
    return Reservations(
        tuple(dict.fromkeys((*ruled, *used))),
        tuple(rule for rule in rules if rule.device not in ids),
        frozenset(one.device for one in own if one not in used),
    )


def _is_used(own: Reservation, ruled: Iterable[Reservation]) -> bool:
    """Whether the rules have this adapter for this device, or neither of them for another one."""
    related = [one for one in ruled if one.device == own.device or one.pin == own.pin]
    return own in related or not related
