"""Requests that break the rules: what is answered for each field, and that nothing is stored."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from tests.soak import examples
from wifimgrd.domain.records import DeviceRecord

GOOD: dict[str, Any] = {
    "codename": "x",
    "connection_type": "wifi",
    "connection_settings": {"ssid": "NOBODY", "password": "long-enough"},
}


@pytest.fixture
async def strict(shim: Served) -> AsyncIterator[Served]:
    """The shim, which must have nothing stored in the end."""
    yield shim
    assert (await shim.get(P)).json == []


def with_settings(**settings: Any) -> dict[str, Any]:
    return GOOD | {"connection_settings": GOOD["connection_settings"] | settings}


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name not in names}


async def test_each_field_at_fault_is_reported_in_sentences(strict: Served) -> None:
    both = {"ssid", "password"}
    cases: list[tuple[Any, set[str], set[str]]] = [
        ({}, {"codename", "connection_type", "connection_settings"}, both),
        ([], {"codename", "connection_type", "connection_settings"}, both),
        ("text", {"codename", "connection_type", "connection_settings"}, both),
        (None, {"codename", "connection_type", "connection_settings"}, both),
        (without("codename"), {"codename", "connection_settings"}, set()),
        (without("connection_type"), {"connection_type", "connection_settings"}, set()),
        (without("connection_settings"), {"connection_settings"}, both),
        (GOOD | {"connection_settings": None}, {"connection_settings"}, both),
        (GOOD | {"connection_settings": []}, {"connection_settings"}, both),
        (GOOD | {"connection_settings": "x"}, {"connection_settings"}, both),
        (GOOD | {"connection_settings": {"ssid": "A"}}, {"connection_settings"}, {"password"}),
        (GOOD | {"codename": ""}, {"codename", "connection_settings"}, set()),
        (GOOD | {"codename": 1}, {"codename", "connection_settings"}, set()),
        (GOOD | {"codename": None}, {"codename", "connection_settings"}, set()),
        (GOOD | {"connection_type": "bluetooth"}, {"connection_type", "connection_settings"}, set()),
        (GOOD | {"connection_type": ["wifi"]}, {"connection_type", "connection_settings"}, set()),
        (GOOD | {"name": 5}, {"name", "connection_settings"}, set()),
        (GOOD | {"name": "a\0b"}, {"name", "connection_settings"}, set()),
        (with_settings(ssid=""), {"connection_settings"}, {"ssid"}),
        (with_settings(ssid="x" * 33), {"connection_settings"}, {"ssid"}),
        (with_settings(ssid="ä" * 17), {"connection_settings"}, {"ssid"}),
        (with_settings(ssid="a\0"), {"connection_settings"}, {"ssid"}),
        (with_settings(ssid="\ud800"), {"connection_settings"}, {"ssid"}),
        (with_settings(ssid=1), {"connection_settings"}, {"ssid"}),
        (with_settings(ssid=None), {"connection_settings"}, {"ssid"}),
        (with_settings(ssid=[65]), {"connection_settings"}, {"ssid"}),
        (with_settings(ssid={"a": {"b": "\0"}}), {"connection_settings"}, {"ssid"}),
        (with_settings(password="short"), {"connection_settings"}, {"password"}),
        (with_settings(password="x" * 64), {"connection_settings"}, {"password"}),
        (with_settings(password="pässword"), {"connection_settings"}, {"password"}),
        (with_settings(password="tab\tinside"), {"connection_settings"}, {"password"}),
        (with_settings(password="\0" * 8), {"connection_settings"}, {"password"}),
        (with_settings(password=12345678), {"connection_settings"}, {"password"}),
        (with_settings(password=1e400), {"connection_settings"}, {"password"}),
        (with_settings(ssid="", password=True), {"connection_settings"}, both),
    ]
    for body, members, nested in cases:
        text = json.dumps(body).replace("Infinity", "1e400")
        answer = await strict.post(P + "/", data=text)
        assert (answer.status, answer.problem["code"]) == (400, "invalid-request"), body
        reported = {name: value for name, value in answer.json.items() if name not in _STANDARD}
        assert reported.keys() == members, body
        settings_reported = reported.pop("connection_settings")
        assert settings_reported.keys() == (nested or {"ssid"}), body
        for sentences in (*reported.values(), *settings_reported.values()):
            assert sentences
            assert all(isinstance(sentence, str) and sentence for sentence in sentences)


@pytest.mark.parametrize("said", [[], None, "x", 1])
async def test_settings_that_are_no_object_are_said_to_be_none(strict: Served, said: Any) -> None:
    answer = await strict.post(P, json=GOOD | {"connection_settings": said})
    sentence = "connection_settings must be an object with ssid and password."
    assert answer.problem["detail"] == sentence
    assert answer.json["connection_settings"] == {"ssid": [sentence], "password": [sentence]}


async def test_a_body_that_is_no_object_is_said_to_be_none(strict: Served) -> None:
    for body in ("[]", '"text"', "null", "5"):
        answer = await strict.post(P, data=body)
        assert answer.problem["detail"] == "The body must be a JSON object."


_STANDARD = {"type", "title", "status", "detail", "code", "error"}


async def test_an_open_network_and_a_raw_key_are_taken(shim: Served) -> None:
    for password in ("", "0" * 64, "x" * 8, "x" * 63):
        assert (await shim.post(P, json=with_settings(password=password))).status == 201


async def test_unknown_fields_are_ignored(shim: Served) -> None:
    answer = await shim.post(P, json=with_settings(band="5GHz") | {"colour": "red", "id": 99})
    assert (answer.status, answer.json["id"]) == (201, 1)


async def test_a_change_is_judged_field_by_field(shim: Served) -> None:
    location = (await shim.post(P, json=GOOD)).headers["Location"]
    before = (await shim.get(location)).json["connection_settings"]
    for body, nested in (
        ({"connection_settings": {"ssid": ""}}, {"ssid"}),
        ({"connection_settings": {"ssid": None, "password": "short"}}, {"ssid", "password"}),
        ({"connection_settings": []}, {"ssid", "password"}),
        ({"connection_settings": None}, {"ssid", "password"}),
    ):
        answer = await shim.ask("PATCH", location, json=body)
        assert (answer.status, answer.problem["code"]) == (400, "invalid-request")
        assert answer.json["connection_settings"].keys() == nested
    assert (await shim.ask("PATCH", location, json=[])).problem["code"] == "invalid-request"
    assert (await shim.get(location)).json["connection_settings"] == before


JSON = {"Content-Type": "application/json"}
MALFORMED = [
    b"",
    b"{",
    b"{'codename': 1}",
    b'{"a": 1,}',
    b'{"a": NaN}',
    b"[Infinity]",
    b"[-Infinity]",
    b'{"codename": "a", "codename": "b"}',
    b"\xff\xfe",
    b'"\xc3"',
    '{"codename": "x"}'.encode("utf-16"),
    b"[" * 60_000,
    b'{"a":' * 10_000,
    b"1" * 5000,
    b'{"a": 1} trailing',
    b"\0",
]


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
async def test_what_is_no_json_is_not_valid(served: Served, fake_hub: FakeHub, body: bytes) -> None:
    fake_hub.appear(DeviceRecord(1))
    for method, path in (("POST", P), ("PATCH", P + "/1")):
        answer = await served.ask(method, path, data=body, headers=JSON)
        assert (answer.status, answer.problem["code"]) == (400, "invalid-request")
    assert fake_hub.asked == []


@pytest.mark.parametrize(
    "declared", ["text/plain", "application/json; charset=latin-1", "application/x-www-form-urlencoded", "?"]
)
async def test_json_is_utf_8_whatever_is_declared(served: Served, fake_hub: FakeHub, declared: str) -> None:
    fake_hub.appear(DeviceRecord(1))
    body = '{"codename": "x", "name": "Küche"}'.encode()
    answer = await served.ask("POST", P, data=body, headers={"Content-Type": declared})
    assert answer.status == 201
    assert fake_hub.asked == [("create", {"codename": "x", "name": "Küche"})]


async def test_a_change_is_utf_8_whatever_charset_is_declared(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DeviceRecord(1))
    body = '{"name": "Küche"}'.encode()
    headers = {"Content-Type": "application/json; charset=latin-1"}
    assert (await served.ask("PATCH", P + "/1", data=body, headers=headers)).status == 200
    assert fake_hub.asked == [("update", 1, {"name": "Küche"})]


def padded(size: int) -> bytes:
    """A body of this size that names a device."""
    empty = json.dumps({"name": "x", "padding": ""}).encode()
    return empty[:-2] + b"x" * (size - len(empty)) + empty[-2:]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("size", "status"), [(65536, 200), (65537, 413), (1_000_000, 413)])
async def test_a_body_has_at_most_64_kb(
    served: Served, fake_hub: FakeHub, size: int, status: int, chunked: bool
) -> None:
    fake_hub.appear(DeviceRecord(1))
    answer = await served.ask("PATCH", P + "/1", data=padded(size), headers=JSON, chunked=chunked or None)
    assert answer.status == status
    if status == 413:
        assert answer.problem["code"] == "payload-too-large"


async def test_a_body_that_is_small_until_it_is_unpacked_is_too_large(
    served: Served, fake_hub: FakeHub
) -> None:
    fake_hub.appear(DeviceRecord(1))
    answer = await served.ask("PATCH", P + "/1", data=padded(1_000_000), headers=JSON, compress="deflate")
    assert (answer.status, answer.problem["code"]) == (413, "payload-too-large")


async def test_a_body_is_sent_for_where_a_client_waits_for_that(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DeviceRecord(1))
    answer = await served.ask("PATCH", P + "/1", data=padded(60_000), headers=JSON, expect100=True)
    assert answer.status == 200


async def test_a_body_that_is_too_large_is_not_even_sent_for(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DeviceRecord(1))
    answer = await served.raw(
        f"PATCH {P}/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        "Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n".encode(),
        first_line=True,
    )
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_an_expectation_that_nobody_knows_is_no_error(served: Served) -> None:
    assert (await served.get(P, headers={"Expect": "applause"})).status == 200


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\nno gzip",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
    ],
)
async def test_a_body_that_is_not_as_announced_is_not_valid(
    served: Served, fake_hub: FakeHub, rest: bytes
) -> None:
    fake_hub.appear(DeviceRecord(1))
    answer = await served.raw(
        f"PATCH {P}/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".encode() + rest
    )
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 400 " in head.splitlines()[0]
    assert json.loads(body)["code"] == "invalid-request"


@pytest.mark.parametrize("raw", [b"GARBAGE\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\r\n\r\n"])
async def test_what_is_no_http_is_answered_as_a_problem(
    served: Served, raw: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    head, _, body = (await served.raw(raw)).partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    assert b"Python" not in head
    assert json.loads(body)["status"] == 400
    assert "Traceback" not in capsys.readouterr().err


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=10,
)
bodies = json_values | st.fixed_dictionaries(
    {},
    optional={
        "codename": json_values,
        "connection_type": st.just("wifi") | json_values,
        "name": json_values,
        "connection_settings": st.fixed_dictionaries(
            {}, optional={"ssid": json_values, "password": json_values}
        )
        | json_values,
    },
)
SLOWLY = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])


@SLOWLY
@given(body=bodies)
async def test_no_json_breaks_the_service(shim: Served, body: Any) -> None:
    answer = await shim.post(P, data=json.dumps(body).replace("Infinity", "1e400"))
    assert answer.status in {201, 400}
    if answer.status == 400:
        assert answer.problem["code"] == "invalid-request"
    assert (await shim.get("/healthz")).json["daemon"] == "available"


@SLOWLY
@given(body=st.binary(max_size=200))
async def test_no_bytes_break_the_service(served: Served, fake_hub: FakeHub, body: bytes) -> None:
    fake_hub.appear(DeviceRecord(1))
    for method, path in (("POST", P), ("PATCH", P + "/1")):
        assert (await served.ask(method, path, data=body, headers=JSON)).status in {200, 201, 400}


@SLOWLY
@given(query=st.text(st.characters(exclude_categories=["Cs"])))
async def test_no_query_breaks_the_service(served: Served, fake_hub: FakeHub, query: str) -> None:
    fake_hub.appear(DeviceRecord(1))
    for operation in ("connect", "status", "disconnect"):
        answer = await served.get(f"{P}/wifi/{operation}", params={"device_id": query, "wait": query})
        assert answer.status in {200, 400, 404}
