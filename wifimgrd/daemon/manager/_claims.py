"""Which interfaces a device can use, by the bands of its access point."""

from __future__ import annotations

from wifimgrd.daemon.manager._state import HubState
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.allocator import Claim
from wifimgrd.domain.device import Device, Sighting
from wifimgrd.domain.errors import DeviceNotReachable


def claim_of(state: HubState, device: Device) -> Claim:
    """A device's request for an interface."""
    return Claim(device.id, device.last_adapter, _bands(state, device))


def _bands(state: HubState, device: Device) -> frozenset[Band]:
    """The bands that a device's access point can be on: the one of its last sighting, which is
    waited for if an adapter can use it, else those of its model.

    If no adapter can use the band of the sighting, that is not a reason to refuse: the camera may
    have been switched to another band, but only to one of its model's.
    """
    known = frozenset(state.model(device).bands)
    met = Band.of_frequency(device.sightings[0].frequency_mhz) if device.sightings else None
    if met is not None and state.allocator.serves(met) and (not known or met in known):
        return frozenset({met})
    return known


def with_band_hint(
    state: HubState, error: DeviceNotReachable, sightings: tuple[Sighting, ...], interface: str
) -> DeviceNotReachable:
    """Why an attempt has failed, with the band of the access point if the interface cannot use it."""
    known = state.allocator.interfaces.get(interface)
    band = Band.of_frequency(sightings[0].frequency_mhz) if sightings else None
    if known is None or band is None or not known.facts.bands or band in known.facts.bands:
        return error
    return DeviceNotReachable(f"{error.message}; it was last seen on {band}, which {interface} cannot use")
