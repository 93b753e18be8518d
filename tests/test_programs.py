"""A test that lacks a program or the page says which command makes it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.programs import program


def test_a_program_that_is_not_installed_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    with pytest.raises(FileNotFoundError, match=r"wifimgrctl is not there: `tools/set-up test` makes it"):
        program("wifimgrctl")
