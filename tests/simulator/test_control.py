"""Control calls that cannot be carried out report why, and change nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.cli._hub_arguments import FAULTS
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.simulator import SimulatedWorld

KINDS = (
    "backend-gone",
    "battery",
    "card-full",
    "clock-off",
    "clock-zone",
    "dhcp-dead",
    "refuse-association",
    "rfkill",
    "scan-fails",
    "signal",
    "slow-join",
    "slow-leave",
    "stops-recording",
    "time-lapse",
)


def test_shells_complete_each_kind_of_fault_and_no_other() -> None:
    with pytest.raises(InvalidRequest) as refused:
        SimulatedWorld().set_fault("flood", {})
    assert refused.value.message.partition("there are: ")[2].split(", ") == list(FAULTS)


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        ("flood", {}, "there is no fault 'flood'; there are: adapter-stuck, backend-gone"),
        ("dhcp-dead", {"sid": "x"}, "dhcp-dead: sid: unknown key; expected one of off, ssid"),
        ("dhcp-dead", {"ssid": "x"}, "there is no camera x"),
        ("dhcp-dead", {"ssid": 3}, "expected a text or bytes, not 3"),
        ("dhcp-dead", {"ssid": ""}, "expected an SSID of 1 to 32 bytes, not ''"),
        ("dhcp-dead", {"off": 1}, "expected true or false, not 1"),
        ("slow-join", {"seconds": "long"}, "expected a number, not 'long'"),
        ("slow-join", {"seconds": True}, "expected a number, not true"),
        ("signal", {"ssid": b"SIM-CAM-1"}, "signal: expected the key percent"),
        ("radio-trouble", {"connections": 0}, "connections: expected 1 to 1000, not 0"),
        ("signal", {"percent": 3}, "signal: expected the key ssid"),
        ("rfkill", {"interface": "wlan7"}, "there is no adapter 'wlan7' plugged in"),
        ("scan-fails", {"interface": "a b"}, "expected an interface name"),
        ("slow-leave", {"interface": "wlan7"}, "there is no adapter 'wlan7' plugged in"),
        ("battery", {"percent": 101}, "battery: percent: expected 0 to 100, not 101"),
        ("battery", {"ssid": "SIM-CAM-OFF", "percent": 1}, "the camera SIM-CAM-OFF has no driver"),
        ("stops-recording", {"reason": "tired"}, 'reason: expected "stopped", "full", "battery"'),
        ("time-lapse", {"speed": 0.5}, "speed: expected 1 to 3600 times, not 0.5"),
        ("clock-zone", {"minutes": 900}, "minutes: expected -840 to 840 minutes, not 900"),
        ("command-unanswered", {"ssid": "SIM-CAM-OFF"}, "the camera SIM-CAM-OFF has no driver"),
        ("backend-gone", {"seconds": -1}, "seconds: expected 0 to 86400 seconds, not -1"),
    ],
)
async def test_faults(kind: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        SimulatedWorld().set_fault(kind, options)
    assert sentence in error.value.message


async def test_adapters() -> None:
    world = SimulatedWorld()
    with pytest.raises(InvalidRequest, match="plugged in already"):
        world.plug_adapter("wlan0")
    with pytest.raises(InvalidRequest, match="no adapter 'wlan9'"):
        world.unplug_adapter("wlan9")
    world.unplug_adapter("wlan0")
    with pytest.raises(InvalidRequest, match="no adapter 'wlan0'"):
        world.unplug_adapter("wlan0")
    for name in ("", "a/b", "x" * 16, "wl an", "..", "wl\x00"):
        with pytest.raises(InvalidRequest, match="interface name"):
            world.plug_adapter(name)


async def test_cameras() -> None:
    world = SimulatedWorld()
    with pytest.raises(InvalidRequest, match="there is no camera nobody"):
        world.power_on_camera(b"nobody")
    with pytest.raises(InvalidRequest, match="there is no camera nobody"):
        world.power_off_camera(b"nobody", orderly=True)
    with pytest.raises(InvalidRequest, match="there is a camera SIM-CAM-1 already"):
        world.add_camera(b"SIM-CAM-1", "camera-pass-1", {})
    with pytest.raises(InvalidRequest, match="1 to 32 bytes"):
        world.add_camera(b"", "camera-pass-1", {})
    with pytest.raises(InvalidRequest, match="8 to 63") as error:
        world.add_camera(b"new", "geheim", {})
    assert "geheim" not in error.value.message
    with pytest.raises(InvalidRequest, match="camera colour: unknown key"):
        world.add_camera(b"new", "camera-pass-1", {"colour": "red"})
    world.add_camera(b"new", "camera-pass-1", {})


VALUES: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.lists(st.integers()),
)
OPTIONS = st.dictionaries(
    st.sampled_from(["ssid", "seconds", "off", "percent", "interface", "hard", "drains", "reason", "other"]),
    VALUES,
    max_size=3,
)


@given(st.sampled_from(KINDS), OPTIONS)
async def test_no_option_does_worse_than_a_sentence(kind: str, options: dict[str, Any]) -> None:
    with suppress(InvalidRequest):
        SimulatedWorld().set_fault(kind, options)


CAMERA_OPTIONS = st.dictionaries(
    st.sampled_from(
        (
            *("security", "band", "frequency_mhz", "signal", "powered", "dhcp", "join_s", "x"),
            *("driver", "battery", "card_gb", "card_free_gb", "clock_offset_s", "recording"),
        )
    ),
    VALUES,
    max_size=3,
)


@given(st.binary(max_size=40), st.text(max_size=70), CAMERA_OPTIONS)
async def test_no_camera_does_worse_than_a_sentence(
    ssid: bytes, password: str, options: dict[str, Any]
) -> None:
    with suppress(InvalidRequest):
        SimulatedWorld().add_camera(ssid, password, options)
