"""What came over a message bus has the declared type, or is refused."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.bus import names
from wifimgrd.bus._messages import BusError
from wifimgrd.bus.values import typed


class Part(TypedDict, total=False):
    address: str


class Properties(TypedDict, total=False):
    State: int
    Interface: str
    AddressData: list[Part]


class Change(NamedTuple):
    name: str
    state: int


def test_a_value_of_the_declared_type_is_returned() -> None:
    assert typed(str, "x") == "x"
    assert typed(list[str], ["x", "y"]) == ["x", "y"]
    assert typed(dict[str, object], {"x": [1]}) == {"x": [1]}
    assert typed(dict[str, dict[str, int]], {"x": {"y": 1}}) == {"x": {"y": 1}}
    assert typed(tuple[str, list[int], object], ["x", [1], None]) == ("x", [1], None)
    change = typed(Change, ["wlan0", 3])
    assert (change.name, change.state) == ("wlan0", 3)


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (str, 1),
        (str, None),
        (int, "1"),
        (list[str], ["x", 1]),
        (list[str], "x"),
        (dict[str, object], {1: "x"}),
        (dict[str, object], []),
        (dict[str, int], {"x": "y"}),
        (tuple[str], []),
        (tuple[str], ["x", "y"]),
        (tuple[str], "x"),
        (Change, ["wlan0", "3"]),
        (Change, ["wlan0"]),
        (Properties, []),
        (Properties, "State"),
    ],
)
def test_a_value_of_another_type_is_an_error_of_the_bus(shape: type, value: object) -> None:
    with pytest.raises(BusError) as refused:
        typed(shape, value)
    assert refused.value.name == names.INVALID_SIGNATURE


def test_of_the_properties_only_those_of_the_declared_types_are_left() -> None:
    sent = {"State": "up", "Interface": "wlan0", "Mtu": 1500, "AddressData": [{"address": "a", "prefix": 24}]}
    assert typed(Properties, sent) == {"Interface": "wlan0", "AddressData": [{"address": "a"}]}
    assert typed(Properties, {"AddressData": [{"address": 1}, {}]}) == {"AddressData": [{}, {}]}
    assert typed(Properties, {"AddressData": ["a"]}) == {}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    )
)
def test_whatever_was_sent_is_a_value_or_an_error_of_the_bus(value: object) -> None:
    for shape in (Properties, Change, dict[str, list[str]], tuple[str, int]):
        with suppress(BusError):
            typed(shape, value)
