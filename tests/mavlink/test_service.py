"""The unit and the rules of `wifimgrd-mavlink`, as they are installed."""

from __future__ import annotations

from pathlib import Path

from tests.service_units import exposure, rights

NAME = "wifimgrd-mavlink"
EXPOSURE = 1.5


def test_the_sandbox_is_as_tight_as_promised(tmp_path: Path) -> None:
    assert exposure(NAME, tmp_path) <= EXPOSURE


def test_its_user_is_made_and_may_control_cameras_and_nothing_else() -> None:
    assert rights(NAME) == ["org.wifimgrd1.control-cameras"]
