"""NetworkManager's states and reasons as errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.daemon.backends.networkmanager._failure_reasons import (
    at_deadline,
    attempt_failed,
    device_gone,
    link_ended,
)
from wifimgrd.daemon.backends.supplicant.diagnosis import SupplicantDiagnosis
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import AdapterTaken, ErrorCode
from wifimgrd.proxies.networkmanager.definitions import DeviceReason, DeviceState

SSID = Ssid(b"CAM")


def diagnosis_after(*states: str) -> SupplicantDiagnosis:
    diagnosis = SupplicantDiagnosis(SSID, sae=False, protected=True)
    for state in states:
        assert diagnosis.properties_changed({"State": state}) is None
    return diagnosis


ASSOCIATED = ("authenticating", "associating", "associated")
HANDSHAKE = (*ASSOCIATED, "4way_handshake")


@pytest.mark.parametrize(
    ("states", "device_state", "visible", "code"),
    [
        ((*HANDSHAKE, "completed"), DeviceState.IP_CONFIG, True, "address-failed"),
        (HANDSHAKE, DeviceState.CONFIG, True, "authentication-failed"),
        (("scanning",), DeviceState.CONFIG, False, "device-not-reachable"),
        (("scanning",), DeviceState.CONFIG, True, "association-refused"),
        (ASSOCIATED, DeviceState.CONFIG, True, "device-not-reachable"),
    ],
)
def test_at_the_deadline(
    states: tuple[str, ...], device_state: DeviceState, visible: bool, code: str
) -> None:
    assert at_deadline(diagnosis_after(*states), device_state, visible=visible).code.value == code


@pytest.mark.parametrize(
    ("number", "reason", "code"),
    [
        (7, DeviceReason.NO_SECRETS, ErrorCode.AUTHENTICATION_FAILED),
        (8, DeviceReason.SUPPLICANT_DISCONNECT, ErrorCode.AUTHENTICATION_FAILED),
        (5, DeviceReason.IP_CONFIG_UNAVAILABLE, ErrorCode.ADDRESS_FAILED),
        (15, DeviceReason.DHCP_START_FAILED, ErrorCode.ADDRESS_FAILED),
        (16, DeviceReason.DHCP_ERROR, ErrorCode.ADDRESS_FAILED),
        (17, DeviceReason.DHCP_FAILED, ErrorCode.ADDRESS_FAILED),
        (53, DeviceReason.SSID_NOT_FOUND, ErrorCode.DEVICE_NOT_REACHABLE),
        (11, DeviceReason.SUPPLICANT_TIMEOUT, ErrorCode.DEVICE_NOT_REACHABLE),
        (10, DeviceReason.SUPPLICANT_FAILED, ErrorCode.BACKEND_UNAVAILABLE),
        (37, DeviceReason.SLEEPING, ErrorCode.BACKEND_UNAVAILABLE),
        (4, DeviceReason.CONFIG_FAILED, ErrorCode.BACKEND_UNAVAILABLE),
        (3, DeviceReason.NOW_UNMANAGED, ErrorCode.INTERFACE_LOST),
        (39, DeviceReason.USER_REQUESTED, ErrorCode.INTERFACE_LOST),
        (60, DeviceReason.NEW_ACTIVATION, ErrorCode.INTERFACE_LOST),
    ],
)
def test_the_reason_of_a_failed_attempt(number: int, reason: DeviceReason, code: ErrorCode) -> None:
    assert reason == number, "as on the bus"
    assert attempt_failed(reason, diagnosis_after(), "wlan0").code is code


def test_a_wrong_password_in_its_view_is_none_after_a_completed_handshake() -> None:
    error = attempt_failed(DeviceReason.NO_SECRETS, diagnosis_after("completed"), "wlan0")
    assert error.code is ErrorCode.DEVICE_NOT_REACHABLE


@given(st.integers(0, 100).filter(lambda reason: reason != DeviceReason.NEW_ACTIVATION))
def test_a_link_that_it_ends_is_lost_for_any_reason(reason: int) -> None:
    error = link_ended(reason, SSID, "wlan0")
    assert error.code is ErrorCode.CONNECTION_LOST
    assert '"CAM"' in error.message


def test_an_adapter_that_it_uses_for_another_connection_was_taken() -> None:
    reason = DeviceReason.NEW_ACTIVATION
    for error in (link_ended(reason, SSID, "wlan0"), attempt_failed(reason, diagnosis_after(), "wlan0")):
        assert isinstance(error, AdapterTaken)
        assert error.message.startswith("the adapter wlan0 was taken by another program: NetworkManager was")


def test_a_device_that_it_has_removed() -> None:
    assert device_gone("wlan0", is_unplugged=True).code is ErrorCode.INTERFACE_LOST
    assert device_gone("wlan0", is_unplugged=False).code is ErrorCode.BACKEND_UNAVAILABLE


@given(st.binary(min_size=1, max_size=32), st.integers(0, 100))
def test_every_sentence_can_be_shown(data: bytes, reason: int) -> None:
    ssid = Ssid(data)
    diagnosis = SupplicantDiagnosis(ssid, sae=True, protected=True)
    errors = [
        link_ended(reason, ssid, "wlan0"),
        attempt_failed(reason, diagnosis, "wlan0"),
        *(
            at_deadline(diagnosis, state, visible=True)
            for state in (DeviceState.CONFIG, DeviceState.IP_CONFIG)
        ),
    ]
    assert all(error.message.isprintable() for error in errors)
