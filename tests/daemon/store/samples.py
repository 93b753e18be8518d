"""Devices to store."""

from __future__ import annotations

from hypothesis import strategies as st

from wifimgrd.domain.adapter import NO_PIN, AdapterIdentity, AdapterPin
from wifimgrd.domain.device import Device, DeviceId, Failure, Passphrase, Sighting, Ssid
from wifimgrd.domain.errors import ErrorCode

SECRET = Passphrase("correct horse 42")


def draft(name: str = "Camera", ssid: bytes = b"CAM-1") -> Device:
    """A device that was never stored."""
    return Device(DeviceId(0), name, "generic-wifi", Ssid(ssid))


_micros = st.integers(0, 2**62)
_macs = st.binary(min_size=6, max_size=6).map(lambda data: data.hex(":"))

passphrases = st.text(max_size=64).map(Passphrase)
failures = st.builds(Failure, st.sampled_from(ErrorCode), st.text(), _micros)
adapters = st.builds(AdapterIdentity, st.just("") | _macs, st.sampled_from(["", "1-1.4", "2-1"]), st.text())
devices = st.builds(
    Device,
    id=st.just(DeviceId(0)),
    name=st.text(),
    codename=st.text(),
    ssid=st.binary(max_size=32).map(Ssid),
    last_attempt_us=_micros,
    last_success_us=_micros,
    failure=st.none() | failures,
    last_adapter=st.none() | adapters,
    sightings=st.lists(st.builds(Sighting, _macs, st.integers(2412, 7115)), max_size=4).map(tuple),
    last_disconnection_us=_micros,
    waiting_since_us=_micros,
    pin=st.sampled_from([NO_PIN, AdapterPin(mac="02:00:00:00:00:01"), AdapterPin(usb_port="1-1.4")]),
    address=st.just("") | st.ip_addresses(v=4).map(str),
)
