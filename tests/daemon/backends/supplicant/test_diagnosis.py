import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.daemon.backends.supplicant.diagnosis import (
    HandshakeLost,
    SupplicantDiagnosis,
    interrupted,
    is_down,
    not_seen,
)
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.kernel.nl80211 import HandshakeReply
from wifimgrd.proxies.wpa_supplicant.definitions import InterfaceProperties

SSID = Ssid(b"CAM")
Changes = list[InterfaceProperties]


def code_of(
    changes: Changes, *, sae: bool = False, protected: bool = True, sae_only: bool = False
) -> str | None:
    diagnosis = SupplicantDiagnosis(SSID, sae, protected, sae_only=sae_only)
    for changed in changes:
        if error := diagnosis.properties_changed(changed):
            assert '"CAM"' in error.message
            return error.code.value
    return None


UP: Changes = [{"State": "authenticating"}, {"State": "associating"}, {"State": "associated"}]
SHAKING: Changes = [*UP, {"State": "4way_handshake"}]
# From wpa_supplicant 2.10 in the lab.
RECORDED: list[tuple[str, Changes, bool, str | None]] = [
    ("joined", [*SHAKING, {"State": "completed"}], False, None),
    (
        "wrong WPA2 password",
        [*SHAKING, {"State": "disconnected", "DisconnectReason": 15}],
        False,
        "authentication-failed",
    ),
    (
        "the reply to the last message of the handshake lost",
        [
            *SHAKING,
            {"State": "completed"},
            {"State": "4way_handshake"},
            {"State": "disconnected", "DisconnectReason": 15},
        ],
        False,
        "device-not-reachable",
    ),
    (
        "wrong WPA2 password, reason first",
        [*SHAKING, {"DisconnectReason": 15}, {"State": "disconnected"}],
        False,
        "authentication-failed",
    ),
    (
        "the same, by another vendor",
        [*SHAKING, {"State": "disconnected", "DisconnectReason": 2}],
        False,
        "authentication-failed",
    ),
    (
        "the same, states lost",
        [{"State": "disconnected", "DisconnectReason": 15}],
        False,
        "authentication-failed",
    ),
    (
        "switched off in the handshake",
        [*SHAKING, {"State": "disconnected", "DisconnectReason": 3}],
        False,
        None,
    ),
    (
        "power cut in the handshake",
        [*SHAKING, {"State": "disconnected", "DisconnectReason": -4}],
        False,
        None,
    ),
    (
        "wrong SAE password",
        [{"State": "authenticating"}, {"AuthStatusCode": 1, "State": "disconnected"}],
        True,
        "authentication-failed",
    ),
    ("the same, by another vendor", [{"AuthStatusCode": 15}], True, "authentication-failed"),
    ("full", [{"State": "disconnected", "AuthStatusCode": 17}], False, "association-refused"),
    ("full, SAE", [{"State": "disconnected", "AuthStatusCode": 17}], True, "association-refused"),
    ("access list", [{"AuthStatusCode": 1}], False, "association-refused"),
    (
        "weak signal",
        [*UP[:2], {"AssocStatusCode": 34, "State": "disconnected"}],
        False,
        "association-refused",
    ),
    (
        "full, reported late",
        [*UP, {"DisconnectReason": 5, "State": "disconnected"}],
        False,
        "association-refused",
    ),
    ("come back later", [{"AssocStatusCode": 30}], False, None),
    ("SAE negotiation", [{"AuthStatusCode": 76}, {"AuthStatusCode": 126}], True, None),
    ("begin", [{"State": "associating", "AuthStatusCode": 0}], False, None),
    (
        "no answer",
        [{"State": "authenticating"}, {"State": "disconnected"}, {"State": "scanning"}],
        False,
        None,
    ),
]


@pytest.mark.parametrize(
    ("changes", "sae", "code"), [row[1:] for row in RECORDED], ids=[row[0] for row in RECORDED]
)
def test_changes_of_properties_as_they_were_recorded(changes: Changes, sae: bool, code: str | None) -> None:
    assert code_of(changes, sae=sae) == code


def ended(states: Changes, reason: int) -> Changes:
    return [*states, {"State": "disconnected", "DisconnectReason": reason}]


GROUP: Changes = [*SHAKING, {"State": "group_handshake"}]


@pytest.mark.parametrize("reason", [1, 2, 15, 16])
@pytest.mark.parametrize("after", [[], [{"State": "4way_handshake"}]], ids=["group", "begun again"])
def test_what_message_3_of_4_has_proven_stays_proven(after: Changes, reason: int) -> None:
    assert code_of(ended([*GROUP, *after], reason)) == "device-not-reachable"


def test_a_lost_group_key_proves_the_password_also_where_its_state_was_not_reported() -> None:
    assert code_of(ended(SHAKING, 16)) == "device-not-reachable"
    assert code_of([{"State": "disconnected", "DisconnectReason": 16}]) == "device-not-reachable"


@pytest.mark.parametrize("reason", [2, 15])
def test_what_sae_has_proven_stays_proven(reason: int) -> None:
    assert code_of(ended(SHAKING, reason), sae=True, sae_only=True) == "device-not-reachable"
    assert code_of(ended(SHAKING, reason), sae=True) == "authentication-failed"


@pytest.mark.parametrize("reason", [4, 6, 7, 9, 34])
def test_an_access_point_that_has_forgotten_the_station_does_not_refuse_the_password(reason: int) -> None:
    assert code_of(ended(SHAKING, reason)) == "device-not-reachable"


@pytest.mark.parametrize("reason", [13, 17, 18, 19, 20, 21, 22, 24])
def test_what_is_refused_in_the_handshake_besides_the_password(reason: int) -> None:
    assert code_of(ended(SHAKING, reason)) == "association-refused"


@pytest.mark.parametrize(("reason", "code"), [(3, "device-not-reachable"), (-3, "authentication-failed")])
def test_who_has_ended_a_handshake(reason: int, code: str) -> None:
    """The camera, which was switched off, or the station, because the camera did not go on."""
    diagnosis = SupplicantDiagnosis(SSID, sae=False, protected=True)
    for changed in ended(SHAKING, reason):
        assert diagnosis.properties_changed(changed) is None
    assert diagnosis.handshake_failed().code.value == code


def test_each_try_is_judged_by_its_own_reason() -> None:
    diagnosis = SupplicantDiagnosis(SSID, sae=False, protected=True)
    for changed in [*ended(SHAKING, 3), *SHAKING]:
        assert diagnosis.properties_changed(changed) is None
    assert diagnosis.at_deadline(visible=True).code.value == "authentication-failed"


def test_an_open_network_has_no_wrong_password() -> None:
    assert code_of([*UP, {"State": "disconnected", "DisconnectReason": 2}], protected=False) is None


@pytest.mark.parametrize("state", ["disconnected", "inactive", "interface_disabled", "scanning"])
def test_down(state: str) -> None:
    assert is_down(state)


@pytest.mark.parametrize("state", ["completed", "group_handshake", "4way_handshake", "associating"])
def test_rekeying_and_roaming_are_not_down(state: str) -> None:
    assert not is_down(state)


@given(st.binary(min_size=1, max_size=32), st.integers(-10, 70))
def test_every_sentence_can_be_shown(data: bytes, code: int) -> None:
    ssid = Ssid(data)
    diagnosis = SupplicantDiagnosis(ssid, sae=True, protected=True)
    errors: list[WifimgrdError | None] = [
        interrupted(ssid, code),
        not_seen(ssid),
        diagnosis.properties_changed({"AuthStatusCode": code}),
        diagnosis.properties_changed({"DisconnectReason": code}),
        diagnosis.at_deadline(visible=True),
    ]
    assert all(error.message.isprintable() for error in errors if error)


def after_replies(
    replies: list[tuple[float, bool]], reason: int, *, joined_before: bool = False
) -> WifimgrdError | None:
    """The cause, where the access point ends a handshake in which these replies were sent: when, in seconds,
    and whether they were acknowledged."""
    diagnosis = SupplicantDiagnosis(SSID, sae=False, protected=True, joined_before=joined_before)
    for changed in SHAKING:
        assert diagnosis.properties_changed(changed) is None
    for number, (at_s, is_acknowledged) in enumerate(replies):
        if error := diagnosis.reply_sent(HandshakeReply(number, is_acknowledged), at_s):
            return error
    return diagnosis.properties_changed({"DisconnectReason": reason})


def test_replies_that_are_ignored_are_a_wrong_password_at_once() -> None:
    error = after_replies([(0.0, True), (0.1, True), (1.1, True)], 0)
    assert error is not None
    assert error.code.value == "authentication-failed"


def test_a_reply_that_was_ignored_is_a_wrong_password_at_the_end() -> None:
    error = after_replies([(0.0, True), (0.1, False), (1.1, False)], 15)
    assert error is not None
    assert error.code.value == "authentication-failed"


def test_replies_that_never_arrived_are_no_wrong_password() -> None:
    error = after_replies([(0.0, False), (0.1, False), (1.1, False), (2.1, False)], 15)
    assert isinstance(error, HandshakeLost)


def test_a_reply_that_arrived_and_was_followed_by_nothing_is_no_wrong_password() -> None:
    error = after_replies([(0.0, True)], 15)
    assert isinstance(error, HandshakeLost)


def test_a_network_that_was_joined_before_is_left_to_reject_the_password_itself() -> None:
    ignored = [(0.0, True), (0.1, True), (1.1, True), (2.1, True)]
    error = after_replies(ignored, 15, joined_before=True)
    assert error is not None
    assert error.code.value == "authentication-failed"
    assert after_replies(ignored, 0, joined_before=True) is None


@pytest.mark.parametrize("reason", [1, 2, 14, 23])
def test_an_access_point_that_rejects_by_a_reason_need_not_ask_again(reason: int) -> None:
    error = after_replies([(0.0, True)], reason)
    assert error is not None
    assert error.code.value == "authentication-failed"


def test_a_station_that_received_no_message_1_has_no_wrong_password() -> None:
    diagnosis = SupplicantDiagnosis(SSID, sae=False, protected=True)
    error = None
    for changed in [*UP, InterfaceProperties(DisconnectReason=15)]:
        error = diagnosis.properties_changed(changed)
    assert isinstance(error, HandshakeLost)


def test_replies_do_not_count_before_the_handshake_is_reported() -> None:
    diagnosis = SupplicantDiagnosis(SSID, sae=False, protected=True)
    for number, at_s in enumerate((0.0, 0.1, 1.1)):
        assert diagnosis.reply_sent(HandshakeReply(number, is_acknowledged=True), at_s) is None
