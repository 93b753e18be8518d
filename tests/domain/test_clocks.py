"""The length of what lasts while a host's clock is set."""

from __future__ import annotations

import pytest

from wifimgrd.domain.clocks import Clocks

SECOND = 1_000_000
BEGIN = Clocks(1_000_000 * SECOND, 50.0)


@pytest.mark.parametrize("set_by_s", [14 * 3600, -14 * 3600, 61, -61])
def test_a_clock_that_was_set_is_not_believed(set_by_s: int) -> None:
    later = Clocks(BEGIN.host_us + (90 + set_by_s) * SECOND, 140.0)
    assert BEGIN.time_of(later) == BEGIN.host_us + 90 * SECOND


@pytest.mark.parametrize("corrected_by_s", [0, 59, -59])
def test_a_clock_that_was_corrected_is(corrected_by_s: int) -> None:
    later = Clocks(BEGIN.host_us + (90 + corrected_by_s) * SECOND, 140.0)
    assert BEGIN.time_of(later) == later.host_us
