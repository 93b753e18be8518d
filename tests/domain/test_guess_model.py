"""Which camera model a network in range seems to be of."""

from __future__ import annotations

import pytest

from wifimgrd.config import catalog
from wifimgrd.domain.camera_model import CameraModel, guess_model

SKY = CameraModel("sky", "Sky", ssid_pattern="SKY-[0-9]+", oui=("d4:d9:19",))
SKY_2 = CameraModel("sky-2", "Sky 2", ssid_pattern="SKY-2[0-9]+", oui=("d4:d9:20",))
SEA = CameraModel("sea", "Sea", oui=("d4:d9:19",))
PLAIN = CameraModel("plain", "Plain")
ALL = (SKY, SKY_2, SEA, PLAIN)


@pytest.mark.parametrize(
    ("ssid", "bssid", "codename"),
    [
        ("SKY-1", "02:00:00:00:00:01", "sky"),
        ("xSKY-1", "02:00:00:00:00:01", ""),
        ("SKY-1x", "02:00:00:00:00:01", ""),
        ("SKY-21", "02:00:00:00:00:01", ""),
        ("SKY-21", "D4:D9:20:00:00:01", "sky-2"),
        ("SKY-1", "d4:d9:20:00:00:01", "sky"),
        ("other", "d4:d9:20:00:00:01", "sky-2"),
        ("other", "d4:d9:19:00:00:01", ""),
        (None, "d4:d9:20:00:00:01", "sky-2"),
        ("", "02:00:00:00:00:01", ""),
    ],
)
def test_a_name_goes_before_a_make_and_of_several_that_fit_alike_none_is_named(
    ssid: str | None, bssid: str, codename: str
) -> None:
    assert guess_model(ALL, ssid, [bssid]) == codename


@pytest.mark.parametrize(
    ("ssid", "codename"),
    [
        ("X3 1A2B3C.OSC", "insta360-x3"),
        ("ONE RS 7J2K1L.OSC", "insta360-one-rs"),
        ("ONE R 7J2K1L.OSC", "insta360-one-r"),
        ("THETAYR10123456.OSC", "ricoh-theta-x"),
        ("THETAYN10123456.OSC", "ricoh-theta-z1"),
        ("FRITZ!Box 7590", ""),
    ],
)
def test_what_the_catalog_knows(ssid: str, codename: str) -> None:
    assert guess_model(catalog.load().values(), ssid, ["02:00:00:00:00:01"]) == codename


@pytest.mark.parametrize(
    ("key", "value"), [("ssid_pattern", "("), ("oui", ("d4d919",)), ("oui", ("D4:D9:19",))]
)
def test_a_pattern_or_a_make_that_makes_no_sense_is_refused(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=key):
        CameraModel("a", "A", **{key: value})  # type: ignore[arg-type]
