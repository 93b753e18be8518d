"""Backups through pipes: as they are, and as the documents encrypt them, with age."""

from __future__ import annotations

import asyncio
import os
import shutil
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.cli.running import PROGRAM, Ran, environment, on_terminal, wifimgrctl
from tests.docs.code_blocks import code_blocks
from tests.processes import Hub

ENCRYPTING, RESTORING = [block.text for block in code_blocks("docs/service.md") if "age -" in block.text]
AS_ROOT = 'set -euo pipefail; sudo() { "$@"; }; systemctl() { :; }\n'
PATH = f"{Path(PROGRAM).parent}:{os.environ['PATH']}"
PASSPHRASE = "six words on a paper slip"
EARLIER = Path(__file__).with_name("backup_of_0.2.0.age")
"""A backup of one device, Front, that version 0.2.0 encrypted with that passphrase."""


async def run(script: str, folder: Path, state: Path) -> tuple[int, bytes, bytes]:
    """Run commands in a folder, with a hub's state; their status, stdout and stderr."""
    own = environment("unix:path=/nowhere", PATH=PATH, STATE_DIRECTORY=str(state))
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", AS_ROOT + script), cwd=folder, env=own, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out, err


async def restored(file: Path, state: Path) -> Ran:
    return await wifimgrctl("unix:path=/nowhere", "restore", str(file), STATE_DIRECTORY=str(state))


def has_state(folder: Path) -> bool:
    return any(file.name != "lock" for file in folder.iterdir())


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """The state of a replacement computer."""
    folder = tmp_path / "new"
    folder.mkdir(mode=0o700)
    return folder


async def test_a_backup_to_stdout_is_what_a_file_has(hub: Hub, tmp_path: Path, new: Path) -> None:
    await hub.create(1, name="Front")
    status, out, err = await run("wifimgrctl backup -", tmp_path, hub.state)
    assert (status, err) == (0, b"")
    assert b"Front" in out
    assert not (tmp_path / "-").exists()
    (tmp_path / "hub.backup").write_bytes(out)
    assert (await restored(tmp_path / "hub.backup", new)).out.startswith("1 camera is restored")


async def test_a_backup_to_a_file_is_root_s_alone(hub: Hub, tmp_path: Path) -> None:
    await hub.create(1)
    file = tmp_path / "hub.backup"
    ran = await wifimgrctl(hub.address, "backup", str(file), STATE_DIRECTORY=str(hub.state))
    assert (ran.status, ran.out) == (0, f"The state is in {file}, including passwords.\n")
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_backup_that_cannot_be_written_to_its_end_leaves_no_file(hub: Hub, tmp_path: Path) -> None:
    script = "ulimit -f 0; wifimgrctl backup hub.backup"
    status, out, err = await run(script, tmp_path, hub.state)
    assert (status, out, err.decode()) == (
        1,
        b"",
        "wifimgrctl: hub.backup: File too large (invalid-request)\n",
    )
    assert not (tmp_path / "hub.backup").exists()


async def test_no_terminal_is_shown_a_backup(hub: Hub) -> None:
    await hub.create(1)
    async with on_terminal(hub.address, "backup", "-", STATE_DIRECTORY=str(hub.state)) as terminal:
        assert await terminal.end() == 1
        await terminal.until_closed()
    assert "pipe it into a program" in terminal.seen
    assert "camera-pass" not in terminal.seen


async def test_a_backup_on_stdout_has_no_json_beside_it(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "--json", "backup", "-", STATE_DIRECTORY=str(hub.state))
    assert (ran.status, ran.out) == (2, "")
    assert "--json needs a file" in ran.err


async def test_the_documents_encrypt_a_backup_and_restore_it(hub: Hub, tmp_path: Path, new: Path) -> None:
    assert shutil.which("age"), "tools/set-up installs it"
    await hub.create(1, name="Front")
    status, _, err = await run(ENCRYPTING, tmp_path, hub.state)
    assert status == 0, err
    data = (tmp_path / "hub.backup.age").read_bytes()
    assert data.startswith(b"age-encryption.org/v1\n")
    assert b"Front" not in data
    assert b"camera-pass" not in data
    status, out, err = await run(RESTORING, tmp_path, new)
    assert (status, err) == (0, b"")
    assert out.startswith(b"1 camera is restored")


async def test_another_key_restores_nothing(hub: Hub, tmp_path: Path, new: Path) -> None:
    await hub.create(1)
    assert (await run(ENCRYPTING, tmp_path, hub.state))[0] == 0
    (tmp_path / "backup.key").unlink()
    status, _, err = await run("age-keygen -o backup.key\n" + RESTORING, tmp_path, new)
    assert status == 1
    assert b"this is not a wifimgrd state" in err
    assert not has_state(new)


async def test_an_encrypted_file_is_recognised(new: Path) -> None:
    ran = await restored(EARLIER, new)
    assert ran.status == 1
    assert f"{EARLIER} is encrypted" in ran.err.replace("\n    ", " ")
    assert "age -d FILE | wifimgrctl restore -" in ran.err
    assert not has_state(new)


async def test_what_version_0_2_0_encrypted_is_restored(tmp_path: Path, new: Path) -> None:
    age, plain = shutil.which("age"), tmp_path / "hub.backup"
    assert age, "tools/set-up installs it"
    async with on_terminal("", "-d", "-o", str(plain), str(EARLIER), program=age) as terminal:
        await terminal.until("passphrase:")
        terminal.type(PASSPHRASE + "\n")
        assert await terminal.end() == 0
    status, out, err = await run("wifimgrctl restore - <hub.backup", tmp_path, new)
    assert (status, err) == (0, b"")
    assert out.startswith(b"1 camera is restored")
