"""What a camera may say of the files of a recording."""

from __future__ import annotations

import pytest

from wifimgrd.domain.recorded_files import MOST_FILES, recorded_files


@pytest.mark.parametrize(
    ("names", "are_known"),
    [
        ([str(number) for number in range(MOST_FILES)], True),
        ([str(number) for number in range(MOST_FILES + 1)], False),
        (["a", "b" * 255], True),
        (["a", "b" * 256], False),
        ([f"{number:0255}" for number in range(16)], True),
        ([f"{number:0255}" for number in range(17)], False),
        ([f"{number:02}" + "\u00fc" * 253 for number in range(8)], True),
        ([f"{number:02}" + "\u00fc" * 253 for number in range(9)], False),
    ],
)
def test_names_are_known_up_to_4_kb_together(names: list[str], are_known: bool) -> None:
    assert (recorded_files([(name, 5) for name in names]) is not None) == are_known
