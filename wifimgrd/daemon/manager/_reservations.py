"""Which adapters are left out or kept for a device, and which of them cannot be kept now."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Final

import structlog

from wifimgrd.daemon.manager._gone_adapters import GoneAdapters
from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain import sentences
from wifimgrd.domain.adapter import Adapter, AdapterPin
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.events import AbsentAdaptersChanged, DeviceUpdated, UnmatchedReservationsChanged
from wifimgrd.domain.reservation import AbsentAdapter, Reservation, ReservationRule

_log = structlog.get_logger()

_UNPLUGGED_KEPT: Final = 64


class Reservations:
    """Applies them whenever the configuration, the devices or the adapters have changed, and warns of those
    that keep no adapter."""

    def __init__(self, state: HubState) -> None:
        self._state = state
        self.applied = Notice[HubSettings]()
        """The configuration, or the devices or their names, may have changed."""
        self.absent: tuple[AbsentAdapter, ...] = ()
        """The adapters that are kept for a device and not plugged in, and those that have gone."""
        self.unmatched: tuple[str, ...] = ()
        """The reservations of the configuration that name no registered device, as sentences."""
        self.gone = GoneAdapters(state)
        self._unplugged: list[tuple[Adapter, int]] = []
        """The adapters that were unplugged last, and when."""

    def apply(self) -> None:
        """The configuration, a device, its name or its pin may have changed: decide anew which interfaces are
        excluded and reserved, and publish what is different now."""
        state, before = self._state, self._state.allocator
        rules = replace(
            state.settings.rules,
            usb_only=before.rules.usb_only,
            reservations=state.registry.reservations(state.settings.reserve),
        )
        if rules != before.rules:
            state.allocator = before.with_rules(rules)
            for name, interface in state.allocator.interfaces.items():
                if interface != before.interfaces[name]:
                    state.publish_interface(name)
        unmatched = tuple(
            sentences.reserved_for_no_device(one.pin, one.device) for one in rules.reservations.of_no_device
        )
        if unmatched != self.unmatched:
            self.unmatched = unmatched
            state.publish(UnmatchedReservationsChanged(unmatched))
        self.check()
        self.applied.notify(state.settings)

    def check(self) -> None:
        """The reservations, the names of devices or the adapters may have changed: publish the devices whose
        warnings are others now."""
        self._check_absent()
        state = self._state
        before, now = state.unmet, dict[DeviceId, tuple[str, ...]]()
        for device, warning in self._unmet_reservations():
            now[device] = (*now.get(device, ()), warning)
        state.unmet = now
        for device in sorted(before.keys() | now.keys()):
            if before.get(device) != now.get(device) and device in state.entries:
                state.publish(DeviceUpdated(state.status(state.entries[device])))

    def unplugged(self, adapter: Adapter) -> None:
        """An adapter was unplugged, which may be reserved, now or later."""
        known = [one for one in self._unplugged if one[0].identity != adapter.identity]
        self._unplugged = [*known[1 - _UNPLUGGED_KEPT :], (adapter, self._state.clock())]
        self.gone.unplugged(adapter)

    def _check_absent(self) -> None:
        absent = []
        for one, holder in self._unmet_by_order():
            if holder is None:
                found = [last for last in self._unplugged if one.pin.is_of(last[0].identity)]
                known = [
                    (adapter.name, adapter.usb_product, at_us, self.gone.user(adapter.identity))
                    for adapter, at_us in found
                ]
                absent.append(AbsentAdapter(one.device, one.pin, *(known[-1] if known else ())))
        absent += self.gone.absent(one.pin for one in absent)
        if (now := tuple(absent)) != self.absent:
            self.absent = now
            self._state.publish(AbsentAdaptersChanged(now))

    def _unmet_by_order(self) -> Iterator[tuple[Reservation, DeviceId | None]]:
        """As `allocator.unmet`; of two for one adapter that is not listed, the first counts."""
        first = dict[AdapterPin, DeviceId]()
        for one, holder in self._state.allocator.unmet():
            yield one, first.get(one.pin) if holder is None else holder
            first.setdefault(one.pin, one.device)

    def _unmet_reservations(self) -> Iterator[tuple[DeviceId, str]]:
        """The devices that have an adapter reserved which is not kept for them, and why."""
        for device in sorted(self._state.allocator.rules.reservations.overruled):
            yield device, sentences.pin_overruled(self._state.entries[device].device.pin)
        for one, holder in self._unmet_by_order():
            if holder is None:
                yield one.device, sentences.no_adapter_to_reserve(one.pin)
            else:
                reason = sentences.reserved_otherwise(one.pin, holder, self._state.device_name(holder))
                yield one.device, reason

    def log(self, devices: Container[DeviceId] | None = None, known: Container[ReservationRule] = ()) -> None:
        """Log the reservations that keep no adapter: of all devices or of some, and those of the
        configuration that name no device, but for the `known` ones."""
        for device, reasons in self._state.unmet.items():
            if devices is None or device in devices:
                name = self._state.device_name(device)
                _log.warning("adapter_not_kept", device=device, device_name=name, reason=" ".join(reasons))
        for rule in self._state.allocator.rules.reservations.of_no_device:
            if rule not in known:
                reason = sentences.reserved_for_no_device(rule.pin, rule.device)
                _log.warning("reserved_for_no_device", reason=reason)
