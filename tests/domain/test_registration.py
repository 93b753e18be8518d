"""What a registration may contain, and the error for what it may not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.adapter import AdapterPin
from wifimgrd.domain.device import Passphrase, Ssid
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.registration import (
    REQUIRED,
    Amendment,
    Beginning,
    Registration,
    free_name,
    parse_amendment,
    parse_registration,
)

GOOD: dict[str, object] = {
    "codename": "generic-wifi",
    "connection_type": "wifi",
    "connection_settings": {"ssid": "CAM-1", "password": "camera-pass-1"},
}


def faults(
    changed: Mapping[str, object] | None = None, settings: Mapping[str, object] | None = None
) -> Mapping[str, tuple[str, ...]]:
    """The errors of a valid payload with one change; `...` removes a field."""
    within = {**GOOD["connection_settings"], **(settings or {})}  # type: ignore[dict-item]
    payload = {**GOOD, "connection_settings": {k: v for k, v in within.items() if v is not ...}}
    payload = {name: value for name, value in (payload | dict(changed or {})).items() if value is not ...}
    with pytest.raises(InvalidRequest) as refused:
        parse_registration(payload)
    return refused.value.fields


def test_a_good_payload() -> None:
    assert parse_registration({**GOOD, "name": "Front door", "something": "else"}) == Registration(
        "generic-wifi", Ssid(b"CAM-1"), Passphrase("camera-pass-1"), "Front door"
    )


def test_the_same_as_properties_of_the_message_bus() -> None:
    assert parse_registration(
        {
            "Codename": "generic-wifi",
            "ConnectionType": "wifi",
            "Ssid": b"CAM-1",
            "Password": "camera-pass-1",
            "IdempotencyKey": "key",
        }
    ) == Registration("generic-wifi", Ssid(b"CAM-1"), Passphrase("camera-pass-1"), idempotency_key="key")


def test_what_a_device_begins_with() -> None:
    assert parse_registration(GOOD).beginning == Beginning()
    payload = {**GOOD, "pin": {"usb_port": "1-1.4"}, "connect": False, "when_free": True}
    read = parse_registration(payload)
    assert read.beginning == Beginning(AdapterPin(usb_port="1-1.4"), connect=False, when_free=True)
    assert read.values() != parse_registration(GOOD).values()
    assert parse_registration({**GOOD, "pin": {}}).values() == parse_registration(GOOD).values()
    assert faults({"pin": "1-1.4", "connect": "no", "when_free": 1}).keys() == {"pin", "connect", "when_free"}


@pytest.mark.parametrize("missing", ["codename", "connection_type"])
def test_a_field_that_is_missing(missing: str) -> None:
    assert faults({missing: ...}) == {missing: (REQUIRED,)}


@pytest.mark.parametrize("settings", [..., None, "text", [], {}])
def test_settings_that_are_none(settings: object) -> None:
    assert faults({"connection_settings": settings}) == {"ssid": (REQUIRED,), "password": (REQUIRED,)}


def test_every_fault_is_reported_at_once() -> None:
    assert faults({"codename": 7, "connection_type": "usb"}, {"ssid": "", "password": "short"}).keys() == {
        "codename",
        "connection_type",
        "ssid",
        "password",
    }


@pytest.mark.parametrize("wrong", [None, 7, 1.5, True, [], {}])
@pytest.mark.parametrize("field", ["codename", "connection_type", "ssid", "password", "name"])
def test_a_value_of_another_type(field: str, wrong: object) -> None:
    place: dict[str, Any] = {"settings" if field in {"ssid", "password"} else "changed": {field: wrong}}
    assert faults(**place) == {field: ("Not a valid string.",)}


@pytest.mark.parametrize(
    ("ssid", "sentence"),
    [
        ("", "The SSID must not be empty."),
        ("x" * 33, "An SSID has at most 32 bytes; this one has 33."),
        ("ü" * 17, "An SSID has at most 32 bytes; this one has 34."),
        (b"x" * 33, "An SSID has at most 32 bytes; this one has 33."),
        ("a\0b", "NUL characters are not allowed."),
        (b"a\0b", "NUL characters are not allowed."),
        ("a\nb", "Control characters are not allowed."),
        ("a\x7fb", "Control characters are not allowed."),
        ("a\x85b", "Control characters are not allowed."),
        ("a\ud800b", "Lone surrogates are not allowed."),
    ],
)
def test_an_ssid_that_is_none(ssid: str | bytes, sentence: str) -> None:
    assert faults(settings={"ssid": ssid}) == {"ssid": (sentence,)}


QR_CODES = [
    "WIFI:S:CAM;P:12345678;",
    "wifi:T:WPA;S:THETAYL00105377.OSC;P:00105377;H:false;\x01",
    " WIFI:",
    "WIFI:S:" + "x" * 200,
]


@pytest.mark.parametrize("text", QR_CODES)
def test_the_text_of_a_qr_code_never_becomes_a_name(text: str) -> None:
    for reported in (faults(settings={"ssid": text}), faults(settings={"ssid": text.encode()})):
        assert reported["ssid"][0].startswith("This is the text of a Wi-Fi QR code")
    reported = faults({"name": text})
    assert reported["name"][0].startswith("This is the text of a Wi-Fi QR code")
    with pytest.raises(InvalidRequest) as refused:
        parse_amendment({"name": text, "connection_settings": {"ssid": text}})
    assert refused.value.fields.keys() == {"name", "ssid"}
    assert "12345678" not in repr(refused.value)


@pytest.mark.parametrize(
    "data", [b"\xff\xfe", b"WIFI", b"my WIFI: 5 GHz", "ü".encode() * 16, b"x" * 32, "無線".encode()]
)
def test_an_ssid_may_be_any_bytes(data: bytes) -> None:
    payload = {**GOOD, "connection_settings": {"ssid": data, "password": "camera-pass-1"}}
    assert parse_registration(payload).ssid == Ssid(data)


@pytest.mark.parametrize(
    "password", ["", "12345678", "x" * 63, "0123456789abcdefABCDEF" + "0" * 42, " ~" * 4]
)
def test_a_password_that_is_one(password: str) -> None:
    payload = {**GOOD, "connection_settings": {"ssid": "CAM-1", "password": password}}
    assert parse_registration(payload).passphrase == Passphrase(password)


@pytest.mark.parametrize(
    "password", ["1234567", "x" * 64, "x" * 65, "0" * 65, "pässword", "tab\tbed!", "nul\0nul!", "\ud800" * 8]
)
def test_a_password_that_is_none_is_not_repeated(password: str) -> None:
    reported = faults(settings={"password": password})
    assert reported.keys() == {"password"}
    assert password not in repr(reported)


@pytest.mark.parametrize("name", ["", "  ", "x" * 129, "a\0b", "a\x1bb", "\ud800"])
def test_a_name_that_is_none(name: str) -> None:
    assert faults({"name": name}).keys() == {"name"}
    assert faults({"codename": name}).keys() == {"codename"}


@pytest.mark.parametrize("key", ["", "x" * 256, 7, None])
def test_an_idempotency_key_that_is_none(key: object) -> None:
    assert faults({"idempotency_key": key}).keys() == {"idempotency_key"}


def test_a_strict_catalog() -> None:
    assert parse_registration(GOOD, codenames={"generic-wifi"})
    with pytest.raises(InvalidRequest) as refused:
        parse_registration(GOOD, codenames={"other"})
    assert refused.value.fields == {"codename": ("Invalid device codename.",)}


def test_an_amendment_says_only_what_changes() -> None:
    assert parse_amendment({}) == Amendment()
    assert parse_amendment({"connection_settings": {"password": ""}}) == Amendment(passphrase=Passphrase(""))
    assert parse_amendment({"name": "New", "connection_settings": {"ssid": "B"}}) == Amendment(
        {"name": "New", "ssid": Ssid(b"B")}
    )
    with pytest.raises(InvalidRequest) as refused:
        parse_amendment({"connection_settings": {"ssid": "", "password": "short"}})
    assert refused.value.fields.keys() == {"ssid", "password"}


def test_settings_within_settings_without_end() -> None:
    nested: dict[str, object] = {"ssid": "CAM-1"}
    for _ in range(20_000):
        nested = {"connection_settings": nested}
    assert faults({"connection_settings": nested}).keys() == {"ssid", "password"}


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
payloads = st.dictionaries(
    st.sampled_from(["codename", "connection_type", "connection_settings", "ssid", "Password", "name"])
    | st.text(),
    json_values | st.just("wifi") | st.dictionaries(st.sampled_from(["ssid", "password"]), json_values),
)


FIELDS = {
    *("codename", "connection_type", "ssid", "password", "name", "idempotency_key"),
    *("auto_reconnect", "priority", "pin", "auto_wake"),
}


def refused_fields(
    parse: Callable[[Mapping[str, object]], object], payload: dict[str, Any]
) -> Mapping[str, tuple[str, ...]] | None:
    """The errors of a payload; None where it is accepted."""
    try:
        parse(payload)
    except InvalidRequest as refused:
        return refused.fields or {"nothing": ()}
    return None


@given(payloads)
def test_whatever_is_sent_is_parsed_or_refused_field_by_field(payload: dict[str, Any]) -> None:
    reported = [refused_fields(parse_registration, payload), refused_fields(parse_amendment, payload)]
    for fields in filter(None, reported):
        assert fields.keys() <= FIELDS
        assert all(sentence.endswith(".") for said in fields.values() for sentence in said)


def test_a_default_name_is_one_that_nobody_has() -> None:
    assert free_name("CAM", ()) == "CAM"
    assert free_name("CAM", {"CAM"}) == "CAM #2"
    assert free_name("CAM", {"CAM", "CAM #2", "CAM #4"}) == "CAM #3"
