"""Backups that a passphrase alone opens, in a format that another program reads and writes."""

from __future__ import annotations

import os
import pty
import secrets
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.running import wifimgrctl
from tests.processes import Hub
from wifimgrd.cli import _encryption as encryption
from wifimgrd.cli._encryption import WrongPassphrase, decrypted, encrypted

PASSPHRASE = "six words on a paper slip"


def age(*arguments: str) -> int:
    """Run age on a terminal, from which alone it takes a passphrase, and answer each time it asks."""
    child, terminal = pty.fork()
    if not child:
        os.execvp("age", ["age", *arguments])
    reported = b""
    try:
        while octets := os.read(terminal, 1024):
            reported += octets
            if octets.rstrip().endswith(b":"):
                os.write(terminal, PASSPHRASE.encode() + b"\n")
    except OSError:
        pass  # the other side of the terminal is closed
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 200_000])
def test_what_was_encrypted_comes_back(size: int) -> None:
    octets = secrets.token_bytes(size)
    assert decrypted(encrypted(octets, PASSPHRASE), PASSPHRASE) == octets


def test_age_reads_what_is_written_and_writes_what_is_read(tmp_path: Path) -> None:
    assert shutil.which("age"), "tools/set-up installs it"
    plain, ours, theirs = (str(tmp_path / name) for name in ("plain", "ours", "theirs"))
    octets = secrets.token_bytes(150_000)
    Path(ours).write_bytes(encrypted(octets, PASSPHRASE))
    assert age("--decrypt", "--output", plain, ours) == 0
    assert Path(plain).read_bytes() == octets
    assert age("--encrypt", "--passphrase", "--output", theirs, plain) == 0
    assert decrypted(Path(theirs).read_bytes(), PASSPHRASE) == octets


def test_another_passphrase_opens_nothing() -> None:
    with pytest.raises(WrongPassphrase):
        decrypted(encrypted(b"state", PASSPHRASE), PASSPHRASE + " ")


@given(st.data())
@settings(max_examples=60)
def test_a_changed_or_shortened_file_opens_nothing(data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encryption, "_WORK", 1)  # the same steps, faster
        whole = encrypted(bytes(70_000), PASSPHRASE)
    if data.draw(st.booleans()):
        changed = bytearray(whole)
        changed[data.draw(st.integers(0, 300) | st.integers(0, len(whole) - 1))] ^= 1 << data.draw(
            st.integers(0, 7)
        )
    else:
        changed = bytearray(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(WrongPassphrase):
        decrypted(bytes(changed), PASSPHRASE)


def test_a_file_that_asks_for_more_memory_than_is_reasonable_is_refused() -> None:
    whole = encrypted(b"state", PASSPHRASE)
    with pytest.raises(WrongPassphrase):
        decrypted(whole.replace(b" 16\n", b" 30\n", 1), PASSPHRASE)


async def test_an_encrypted_backup_is_recognised_and_restored(hub: Hub, tmp_path: Path) -> None:
    await hub.create(1, name="Front")
    passphrase, file = tmp_path / "passphrase", tmp_path / "hub.backup"
    passphrase.write_text(PASSPHRASE + "\n")
    state = {"STATE_DIRECTORY": str(hub.state)}
    given_so = ("--passphrase-file", str(passphrase))
    ran = await wifimgrctl(hub.address, "backup", "--encrypt", *given_so, str(file), **state)
    assert (ran.status, ran.out) == (0, f"The state is in {file}, encrypted.\n")
    octets = file.read_bytes()
    assert b"Front" not in octets
    assert b"camera-pass" not in octets
    assert file.stat().st_mode & 0o777 == 0o600

    (tmp_path / "new").mkdir(mode=0o700)
    state = {"STATE_DIRECTORY": str(tmp_path / "new")}
    ran = await wifimgrctl(hub.address, "restore", str(file), **state)
    assert ran.status == 2
    assert "--passphrase-file" in ran.err
    (tmp_path / "other").write_text("another one")
    ran = await wifimgrctl(
        hub.address, "restore", "--passphrase-file", str(tmp_path / "other"), str(file), **state
    )
    assert ran.status == 1
    assert "wrong passphrase for" in ran.err
    assert list((tmp_path / "new").iterdir()) == []
    ran = await wifimgrctl(hub.address, "restore", *given_so, str(file), **state)
    assert ran.status == 0
    assert ran.out.startswith("1 device is restored")


@pytest.mark.parametrize("line", [("--encrypt",), ("--encrypt", "--passphrase-file", "/dev/null")])
async def test_without_a_passphrase_no_backup_is_written(
    hub: Hub, tmp_path: Path, line: tuple[str, ...]
) -> None:
    await hub.create(1)
    file = tmp_path / "hub.backup"
    ran = await wifimgrctl(hub.address, "backup", *line, str(file), STATE_DIRECTORY=str(hub.state))
    assert ran.status in (1, 2)
    assert not file.exists()


async def test_a_passphrase_given_alone_encrypts(hub: Hub, tmp_path: Path) -> None:
    await hub.create(1)
    (tmp_path / "passphrase").write_text(PASSPHRASE)
    line = ("backup", "--passphrase-file", str(tmp_path / "passphrase"), str(tmp_path / "file"))
    assert (await wifimgrctl(hub.address, *line, STATE_DIRECTORY=str(hub.state))).status == 0
    assert (tmp_path / "file").read_bytes().startswith(b"age-encryption.org/v1\n")
