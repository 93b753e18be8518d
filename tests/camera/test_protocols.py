"""A Bluetooth protocol is complete: its service, its row, its class, and the simulated one."""

from __future__ import annotations

import pytest

from wifimgrd.camera._operations import _PROTOCOLS
from wifimgrd.config import catalog
from wifimgrd.simulator._scenario import BluetoothKind
from wifimgrd.wire.camera_names import PROTOCOLS

WOKEN = {one.bluetooth.service for one in catalog.load().values() if one.bluetooth} - {""}
"""The services of the shipped models that are found by one."""


def test_each_shipped_models_service_has_its_protocol() -> None:
    assert set(PROTOCOLS) >= WOKEN


@pytest.mark.parametrize(("service", "protocol"), PROTOCOLS.items())
def test_each_protocol_has_a_class_for_its_service_and_can_be_simulated(service: str, protocol: str) -> None:
    assert _PROTOCOLS[protocol].SERVICE.startswith((service, f"0000{service}"))
    assert BluetoothKind(protocol).service == service
