"""What was acknowledged is there after a power cut; what was not is there whole or not at all."""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
from pathlib import Path

import pytest

from tests.daemon.store.samples import SECRET, draft
from wifimgrd.daemon.store import SqliteStore
from wifimgrd.daemon.store._schema import FILE_NAME

KILLED_AT_ONCE = """
import asyncio, os, pathlib, signal, sys
from tests.daemon.store.samples import SECRET, draft
from wifimgrd.daemon.store import SqliteStore

async def main():
    store = await SqliteStore.open(pathlib.Path(sys.argv[1]))
    await store.add(draft(), SECRET, "key")
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""

WRITING_FOR_EVER = """
import asyncio, itertools, pathlib, sys
from tests.daemon.store.samples import SECRET, draft
from wifimgrd.daemon.store import SqliteStore

async def main():
    store = await SqliteStore.open(pathlib.Path(sys.argv[1]))
    for number in itertools.count():
        device = await store.add(draft(f"number {number}"), SECRET, f"key {number}")
        print(device.id, flush=True)

asyncio.run(main())
"""


async def child(script: str, directory: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, directory, stdout=asyncio.subprocess.PIPE
    )


async def test_a_device_that_was_added_survives_a_kill_right_after(tmp_path: Path) -> None:
    process = await child(KILLED_AT_ONCE, tmp_path)
    assert await process.wait() == -9
    store = await SqliteStore.open(tmp_path)
    (device,) = (await store.load()).values()
    assert await store.passphrase(device.id) == SECRET
    assert await store.find_key("key") == device.id
    await store.close()


@pytest.mark.parametrize("seed", range(8))
async def test_whatever_was_acknowledged_is_there_whenever_the_power_goes(tmp_path: Path, seed: int) -> None:
    enough = random.Random(seed).randrange(1, 60)
    process = await child(WRITING_FOR_EVER, tmp_path)
    assert process.stdout is not None
    for _ in range(enough):
        assert await process.stdout.readline()
    process.kill()
    acknowledged = enough + len((await process.stdout.read()).splitlines())
    await process.wait()

    store = await SqliteStore.open(tmp_path)
    devices = await store.load()
    assert list(devices) == list(range(1, len(devices) + 1))
    assert len(devices) - acknowledged in (0, 1), "one may have been written and not acknowledged"
    for ident, device in devices.items():
        assert device.name == f"number {ident - 1}"
        assert await store.passphrase(ident) == SECRET
        assert await store.find_key(f"key {ident - 1}") == ident
    await store.close()


async def test_the_files_as_they_are_at_that_instant_are_enough(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "live")
    for number in range(5):
        device = await store.add(draft(), SECRET)
        copy = tmp_path / f"copy {number}"
        copy.mkdir()
        for suffix in ("", "-wal"):  # -shm is rebuilt from the log
            shutil.copy(tmp_path / "live" / (FILE_NAME + suffix), copy)
        other = await SqliteStore.open(copy)
        assert (await other.load())[device.id] == device
        assert await other.passphrase(device.id) == SECRET
        await other.close()
    await store.close()


async def test_a_torn_log_loses_no_earlier_device(tmp_path: Path) -> None:
    """A power cut may leave the log's last frames cut short: only what was not acknowledged goes."""
    store = await SqliteStore.open(tmp_path / "live")
    device = await store.add(draft(), SECRET)
    log = tmp_path / "live" / (FILE_NAME + "-wal")
    acknowledged = log.stat().st_size
    await store.add(draft("torn"), SECRET)
    whole = log.read_bytes()
    for cut in range(acknowledged, len(whole), max(1, (len(whole) - acknowledged) // 7)):
        copy = tmp_path / f"copy {cut}"
        copy.mkdir()
        shutil.copy(tmp_path / "live" / FILE_NAME, copy)
        (copy / log.name).write_bytes(whole[:cut])
        other = await SqliteStore.open(copy)
        assert await other.load() == {device.id: device}
        await other.close()
    await store.close()
