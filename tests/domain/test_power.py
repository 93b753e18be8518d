"""How a sleeping camera is recognised and woken, and how often."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.config import catalog
from wifimgrd.config.toml_tables import build
from wifimgrd.domain.camera_model import CameraModel
from wifimgrd.domain.checks import Invalid
from wifimgrd.domain.device import Passphrase, PowerState, Ssid
from wifimgrd.domain.errors import NotPaired, NotSupported
from wifimgrd.domain.power import (
    STEP_S,
    WAKES_PER_HOUR,
    Advertiser,
    PairedCamera,
    Sight,
    Wakes,
    beacon_of,
    codename_of,
    is_device,
    matches,
    newest_of,
    own_name,
    wake_request,
)

MODELS = catalog.load()
GOPRO = MODELS["gopro-hero12"]
X4 = MODELS["insta360-x4"]
ADDRESS = "F4:DD:12:34:56:78"
HOUR_S = 3600.0


def ssid(text: str) -> Ssid:
    return Ssid(text.encode())


def test_the_beacon_is_that_of_the_makers_remote_with_the_cameras_six_characters() -> None:
    heard = bytes.fromhex("4c00 0215 094f5242495409ff0f00 333455514735 00000000e401".replace(" ", ""))
    assert beacon_of(X4, ssid("X4 34UQG5.OSC")) == heard
    assert beacon_of(X4, ssid("Insta360 X4 34UQG5.OSC")) == heard


@pytest.mark.parametrize(
    "name", ["Nose", "X4 34UQG.OSC", "X4 34UQG55.OSC", "X4 34UQG\u00e9.OSC", "X3 34UQG5.OSC"]
)
def test_a_name_without_the_six_characters_says_what_is_wrong(name: str) -> None:
    with pytest.raises(NotSupported, match="was renamed"):
        beacon_of(X4, ssid(name))


def test_a_network_that_is_no_text_is_a_renamed_one() -> None:
    with pytest.raises(NotSupported):
        beacon_of(X4, Ssid(b"\xff\xfe"))


def test_what_wakes_by_a_connection_needs_its_address() -> None:
    with pytest.raises(NotPaired):
        wake_request(GOPRO, ssid("GP1"), "", "device-1")
    request = wake_request(GOPRO, ssid("GP1"), ADDRESS, "device-1")
    assert (request.key, request.service, request.beacon) == (ADDRESS, "fea6", b"")


def test_a_beacon_needs_none_and_lasts_as_long_as_the_model_says() -> None:
    request = wake_request(X4, ssid("X4 34UQG5.OSC"), "", "device-1")
    assert (request.key, request.timeout_s) == ("device-1", 120)


def test_a_model_without_bluetooth_is_not_woken() -> None:
    with pytest.raises(NotSupported, match="cannot do that with cameras of the model GoPro HERO8"):
        wake_request(MODELS["gopro-hero8"], ssid("x"), ADDRESS, "device-1")


def test_a_camera_is_recognised_by_its_service_or_its_whole_name() -> None:
    assert matches(GOPRO, Advertiser(ADDRESS, "anything", "fea6"))
    assert matches(GOPRO, Advertiser(ADDRESS, "GoPro 1234"))
    assert not matches(GOPRO, Advertiser(ADDRESS, "My GoPro 1234"))
    assert not matches(MODELS["gopro-hero8"], Advertiser(ADDRESS, "GoPro 1234", "fea6"))


def test_a_paired_camera_is_recognised_by_its_address_alone() -> None:
    impostor = Advertiser("F4:DD:00:00:00:00", "GoPro 1234", "fea6")
    assert not is_device(GOPRO, ssid("GP1"), ADDRESS, impostor)
    assert not is_device(GOPRO, ssid("GP1"), "", impostor)
    assert is_device(GOPRO, ssid("GP1"), ADDRESS, Advertiser(ADDRESS))


def test_a_camera_without_pairing_is_recognised_by_its_networks_name() -> None:
    assert is_device(X4, ssid("X4 34UQG5.OSC"), "", Advertiser(ADDRESS, "X4 34UQG5"))
    assert not is_device(X4, ssid("X4 34UQG5.OSC"), "", Advertiser(ADDRESS, "X4 AAAAAA"))


@pytest.mark.parametrize("brand", ["", "Insta360 "])
@pytest.mark.parametrize("network", ["X4 34UQG5.OSC", "Insta360 X4 34UQG5.OSC"])
def test_an_insta360_may_advertise_its_brand_before_its_name(brand: str, network: str) -> None:
    seen = Advertiser(ADDRESS, f"{brand}X4 34UQG5")
    assert is_device(X4, ssid(network), "", seen)
    assert codename_of(MODELS.values(), seen) == "insta360-x4"


@pytest.mark.parametrize(
    ("name", "codename"),
    [
        ("HERO12 Black", "gopro-hero12"),
        ("HERO11 Black", "gopro-hero11"),
        ("HERO11 Black Mini", "gopro-hero11-mini"),
        ("MAX2", "gopro-max-2"),
        ("MAX 2", "gopro-max-2"),
        ("LIT HERO", "gopro-lit-hero"),
        ("MISSION 1", "gopro-mission-1"),
        ("MISSION 1 PRO", "gopro-mission-1-pro"),
        ("HERO", ""),
        ("HERO1", ""),
        ("HERO121", ""),
        ("MISSION 12", ""),
        ("", ""),
    ],
)
def test_a_gopro_is_the_model_whose_whole_name_is_in_the_makers_the_longest_first(
    name: str, codename: str
) -> None:
    assert codename_of(MODELS.values(), Advertiser(ADDRESS, "GoPro 1234", "fea6"), name) == codename


def test_a_gopro_that_is_only_heard_is_the_model_whose_number_it_advertises() -> None:
    seen = Advertiser(ADDRESS, "GoPro 1234", "fea6", model_id=60)
    assert codename_of(MODELS.values(), seen) == "gopro-hero11-mini"
    assert codename_of(MODELS.values(), replace(seen, model_id=99)) == ""
    assert codename_of(MODELS.values(), seen, "HERO12 Black") == "gopro-hero12"


def test_a_model_without_a_latin_letter_is_nobodys_name() -> None:
    own = replace(GOPRO, codename="own", device_name="\u5168\u666f \u76f8\u673a")
    seen = Advertiser(ADDRESS, "GoPro 1234", "fea6")
    assert codename_of([GOPRO, own], seen, "HERO14 Black") == ""
    assert codename_of([own, GOPRO], seen, "HERO12 Black") == "gopro-hero12"


def test_a_number_of_another_maker_says_nothing() -> None:
    assert codename_of(MODELS.values(), Advertiser(ADDRESS, "X4 34UQG5", model_id=60)) == "insta360-x4"


def test_a_camera_of_no_known_model_is_the_newest_of_its_family() -> None:
    gopro = Advertiser(ADDRESS, "GoPro 1234", "fea6")
    assert newest_of(MODELS.values(), gopro) == "gopro-mission-1-pro"
    assert newest_of(MODELS.values(), Advertiser(ADDRESS, "a keyboard")) == ""


def test_a_camera_is_called_by_the_makers_name_only_where_that_is_not_the_models() -> None:
    assert own_name(GOPRO, "HERO14 Black") == "HERO14 Black"
    assert own_name(GOPRO, "HERO12 Black") == own_name(GOPRO, "  ") == ""


@given(st.lists(st.floats(0, 10 * HOUR_S), max_size=40).map(sorted))
def test_no_hour_has_more_wakes_than_are_allowed(times_s: list[float]) -> None:
    wakes, began = Wakes(), list[float]()
    for now_s in times_s:
        if wakes.may_begin(now_s):
            wakes = wakes.woke(now_s)
            began.append(now_s)
    for start_s in began:
        assert sum(start_s <= one < start_s + HOUR_S for one in began) <= WAKES_PER_HOUR


def test_after_failures_the_hub_tries_again_after_1_and_5_minutes_and_then_each_half_hour() -> None:
    wakes, now_s, pauses_s = Wakes(), 100.0, []
    for _ in range(5):
        assert wakes.may_begin(now_s)
        wakes = wakes.failed(now_s)
        assert not wakes.may_begin(math.nextafter(wakes.retry_s, 0))
        pauses_s.append(wakes.retry_s - now_s)
        now_s = wakes.retry_s
    assert pauses_s == [60, 300, 1800, 1800, 1800]


def test_a_command_tries_again_at_once_and_does_not_postpone_the_next_retry() -> None:
    wakes = Wakes().failed(0)
    assert wakes.may_begin(1, is_commanded=True)
    assert wakes.failed(1) == wakes.failed(59) == wakes


def test_a_camera_that_has_answered_counts_as_if_it_had_never_failed() -> None:
    failed = replace(Wakes().failed(0).failed(60), is_bonded=False)
    assert failed.answered() == Wakes()
    assert failed.woke(70).failed(80).retry_s == 80 + 60


def test_a_later_sight_is_told_in_steps_and_another_state_at_once() -> None:
    told = Sight(PowerState.ASLEEP, 1_000_000)
    assert not Sight(PowerState.ASLEEP, 1_000_000 + int(STEP_S * 1e6) - 1).differs(told)
    assert Sight(PowerState.ASLEEP, 1_000_000 + int(STEP_S * 1e6)).differs(told)
    assert Sight(PowerState.AWAKE, 1_000_001).differs(told)


def test_a_password_that_a_camera_has_told_is_not_shown() -> None:
    assert "secret" not in repr(PairedCamera(b"GP1", Passphrase("secret-12"), "HERO12"))


@pytest.mark.parametrize(
    ("bluetooth", "key"),
    [
        ({"wake": "beacon", "name_pattern": "x"}, "beacon"),
        ({"wake": "connect", "service": "fea6", "beacon": "4c0002"}, "beacon"),
        ({"wake": "connect"}, "service"),
        ({"wake": "connect", "service": "FEA6"}, "service"),
        ({"wake": "beacon", "name_pattern": "x", "beacon": "4c00"}, "beacon"),
        ({"wake": "beacon", "name_pattern": "x", "beacon": "4c" * 27}, "beacon"),
        ({"wake": "beacon", "name_pattern": "x", "beacon": "4c0002{name6}"}, "ssid_pattern"),
        ({"wake": "beacon", "name_pattern": "x", "beacon": "4c0002", "pairing": True}, "pairing"),
        ({"wake": "knock", "service": "fea6"}, "wake"),
        ({"wake": "connect", "service": "fea6", "wake_timeout_s": 0}, "wake_timeout_s"),
    ],
)
def test_a_model_that_cannot_be_woken_as_described_is_refused(bluetooth: dict[str, object], key: str) -> None:
    with pytest.raises(Invalid) as refused:
        build(CameraModel, {"codename": "x", "device_name": "X", "bluetooth": bluetooth})
    assert refused.value.keys[-1] == key
