"""Files that are there as a whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from wifimgrd.runtime.durable_files import replace, write_new


def refuse(_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"old, and longer", b"new"):
        replace(path, content)
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o600
    replace(path, b"newer", 0o644)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_file_that_cannot_be_replaced_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, folder = tmp_path / "file", tmp_path / "folder"
    replace(path, b"old")
    folder.mkdir()
    with pytest.raises(OSError, match="directory"):
        replace(folder, b"new")
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="space"):
        replace(path, b"new")
    assert path.read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == [path, folder]


def test_what_an_interrupted_write_has_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".file.new").write_bytes(b"half")
    replace(tmp_path / "file", b"new")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_new_file_replaces_none_and_is_removed_if_it_is_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_new(path, b"old")
    with pytest.raises(FileExistsError):
        write_new(path, b"new")
    assert path.read_bytes() == b"old"
    path.unlink()
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="space"):
        write_new(path, b"new")
    assert not path.exists()
