"""The unit and the rules of `wifimgrd-mqtt`, as they are installed."""

from __future__ import annotations

from pathlib import Path

from tests.service_units import exposure, rights

NAME = "wifimgrd-mqtt"
EXPOSURE = 1.5


def test_the_sandbox_is_as_tight_as_promised(tmp_path: Path) -> None:
    assert exposure(NAME, tmp_path) <= EXPOSURE


def test_its_user_is_made_and_may_command_cameras_and_no_more() -> None:
    assert set(rights(NAME)) == {
        "org.wifimgrd1.connect",
        "org.wifimgrd1.control-cameras",
        "org.wifimgrd1.manage-devices",
    }
