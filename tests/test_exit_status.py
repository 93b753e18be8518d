"""With which status the programs end, and what systemd does then: what passes by itself is tried again, since
nobody may be there to do it."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import NameTaken
from wifimgrd.config.configuration import ConfigError, FileUnusable, load, load_models
from wifimgrd.daemon import _daemon as daemon
from wifimgrd.daemon._start_refusals import refusal_of
from wifimgrd.daemon.store import (
    SchemaFromFuture,
    SqliteStore,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from wifimgrd.runtime import restart_pause

alone_in = daemon._alone_in
CHECKOUT = Path(__file__).parents[1]
UNITS = sorted((CHECKOUT / "systemd").glob("*.service"))
FULL_DISK = """
mount -t tmpfs -o size=300k tmpfs "$1"
"$2" -c "$3" "$1"
cat /dev/zero >"$1/full" 2>/dev/null || true
shift 3
exec "$@"
"""
MAKE_STATE = """
import asyncio, pathlib, sys
from wifimgrd.daemon.store import SqliteStore
async def make():
    await (await SqliteStore.open(pathlib.Path(sys.argv[1]))).close()
asyncio.run(make())
"""
MQTT = '[mqtt]\nbroker = "mqtt://127.0.0.1:9"\nhub = "boat"\n'
MAVLINK = '[mavlink]\nconnection = "udpout:127.0.0.1:9"\n'
PAUSED = """
import importlib, os, signal, sys
from wifimgrd.runtime import restart_pause
def hung_up(pause_s):
    os.kill(os.getpid(), signal.SIGHUP)
    print("paused for", pause_s)
restart_pause.is_for_journal = lambda: True
restart_pause.time.sleep = hung_up
for missing in os.environ.get("MISSING", "").split():
    sys.modules[missing] = None
sys.exit(importlib.import_module(sys.argv.pop(1) + ".__main__").main())
"""


def never_restarted(unit: str) -> set[int]:
    """The statuses after which systemd leaves a unit as it is."""
    lines = re.findall(
        r"^RestartPreventExitStatus=(.*)$", (CHECKOUT / "systemd" / unit).read_text(), re.MULTILINE
    )
    return {int(status) for line in lines for status in line.split()}


def daemon_ends(bus: str, state: Path, *before: str) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-m", "wifimgrd.daemon", "--simulate", "--bus", bus]
    environment = os.environ | {"STATE_DIRECTORY": str(state)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


async def test_a_daemon_that_finds_its_state_file_held_is_started_again(
    message_bus: MessageBusDaemon, tmp_path: Path
) -> None:
    await (await SqliteStore.open(tmp_path)).close()
    other = sqlite3.connect(tmp_path / "wifimgrd.db", isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    try:
        ended = await asyncio.to_thread(daemon_ends, message_bus.address, tmp_path)
    finally:
        other.close()
    assert "another process holds the state file" in ended.stderr
    assert ended.returncode == os.EX_IOERR


async def test_a_daemon_that_finds_its_disk_full_is_started_again(
    message_bus: MessageBusDaemon, tmp_path: Path
) -> None:
    shell = ("unshare", "--mount", "sh", "-euc", FULL_DISK, "sh")
    before = (*shell, str(tmp_path), sys.executable, MAKE_STATE)
    ended = await asyncio.to_thread(daemon_ends, message_bus.address, tmp_path, *before)
    assert "the disk that holds the state" in ended.stderr
    assert ended.returncode == os.EX_IOERR


@pytest.mark.parametrize(
    ("error", "status", "is_restarted"),
    [
        (NameTaken("another one"), os.EX_TEMPFAIL, True),
        (daemon.DirectoryTaken("another one"), os.EX_TEMPFAIL, True),
        (daemon.BusLost("gone"), os.EX_UNAVAILABLE, True),
        (TimeoutError(), os.EX_UNAVAILABLE, True),
        (StoreFull("full"), os.EX_IOERR, True),
        (StoreReadOnly("read-only"), os.EX_IOERR, True),
        (StoreError("held"), os.EX_IOERR, True),
        (OSError(errno.EIO, "I/O error"), os.EX_IOERR, True),
        (FileUnusable("not there"), os.EX_IOERR, True),
        (ConfigError("a typing error"), os.EX_CONFIG, False),
        (SchemaFromFuture("newer"), os.EX_DATAERR, False),
        (StoreDamaged("damaged"), os.EX_DATAERR, False),
        (daemon.StateDirectoryUnusable("of another user"), os.EX_CANTCREAT, False),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Exception) else "",
)
def test_only_what_a_person_can_mend_ends_the_daemon_for_good(
    error: Exception, status: int, is_restarted: bool
) -> None:
    refusal = refusal_of(error)
    assert refusal is not None
    assert refusal.status == status
    assert (status not in never_restarted("wifimgrd.service")) == is_restarted


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EACCES, daemon.StateDirectoryUnusable), (errno.ENOSPC, StoreError)]
)
def test_a_state_directory_that_may_not_be_entered_is_not_one_that_cannot_be_now(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int, kind: type[Exception]
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(kind, match="cannot be used"), alone_in(tmp_path):
        pass


@pytest.mark.parametrize("name", ["wifimgrd.toml", "catalog.d/own.toml"])
def test_a_file_that_cannot_be_read_now_is_not_a_wrong_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("not TOML")
    with pytest.raises(ConfigError) as wrong:
        load(tmp_path / "wifimgrd.toml") if name == "wifimgrd.toml" else load_models(tmp_path / "x")
    assert not isinstance(wrong.value, FileUnusable)
    file.unlink()
    file.symlink_to(file)  # it is listed, and cannot be read
    with pytest.raises(FileUnusable, match="cannot be read"):
        load(tmp_path / "wifimgrd.toml") if name == "wifimgrd.toml" else load_models(tmp_path / "x")


def pauses(module: str, *options: str, **environment: str) -> tuple[int, bool]:
    """The status that a program ends with, and whether it waits before that, also where it is hung up."""
    ended = subprocess.run(
        [sys.executable, "-c", PAUSED, module, *options],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return ended.returncode, "paused for 5.0" in ended.stdout


@pytest.mark.parametrize(
    ("module", "text", "status"),
    [
        ("wifimgrd.daemon", "[http]", os.EX_IOERR),
        ("wifimgrd.daemon", "typing error", os.EX_CONFIG),
        ("wifimgrd.http", '[http]\ntoken_file = "/nowhere"', os.EX_IOERR),
        ("wifimgrd.http", '[http]\nlisten = "192.0.2.1:1"', os.EX_OSERR),
        ("wifimgrd.http", "typing error", os.EX_CONFIG),
        ("wifimgrd.mqtt", MQTT + 'user = "hub"\npassword_file = "/nowhere"', os.EX_IOERR),
        ("wifimgrd.mqtt", MQTT, os.EX_UNAVAILABLE),
        ("wifimgrd.mqtt", "typing error", os.EX_CONFIG),
        ("wifimgrd.mavlink", MAVLINK + 'signing_key_file = "/nowhere"', os.EX_IOERR),
        ("wifimgrd.mavlink", "typing error", os.EX_CONFIG),
    ],
)
def test_what_passes_by_itself_is_not_tried_again_every_second(
    tmp_path: Path, module: str, text: str, status: int
) -> None:
    config = tmp_path / "wifimgrd.toml"
    config.write_text(text)
    if module == "wifimgrd.daemon" and status == os.EX_IOERR:
        config.unlink()
        config.symlink_to(config)
    ended = pauses(module, "--config", str(config), MISSING="paho")
    assert ended == (status, status != os.EX_CONFIG)


@pytest.mark.parametrize("module", ["wifimgrd.helper", "wifimgrd.camera"])
def test_the_private_processes_wait_for_the_system_but_not_for_the_message_bus(
    message_bus: MessageBusDaemon, module: str
) -> None:
    assert pauses(module, "--bus", message_bus.address, "--user", "no-such-user") == (os.EX_OSERR, True)
    assert pauses(module, "--bus", "unix:path=/nowhere", "--user", "root") == (os.EX_UNAVAILABLE, False)


async def test_a_daemon_that_is_hung_up_while_it_waits_is_started_again(
    message_bus: MessageBusDaemon, tmp_path: Path
) -> None:
    options = ("--simulate", "--bus", message_bus.address)
    with alone_in(tmp_path):
        ended = await asyncio.to_thread(pauses, "wifimgrd.daemon", *options, STATE_DIRECTORY=str(tmp_path))
    assert ended == (os.EX_TEMPFAIL, True)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_no_unit_is_ever_given_up(unit: Path) -> None:
    text = unit.read_text()
    assert "\nRestart=on-failure\n" in text
    assert "\nStartLimitIntervalSec=0\n" in text
    assert never_restarted(unit.name) <= restart_pause.NOT_RESTARTED
    [loop] = re.findall(r"for unit in (.*); do", (CHECKOUT / "systemd" / "wifimgrd-generator").read_text())
    assert unit.stem in loop.split()


@pytest.mark.parametrize(
    "unit", [one for one in UNITS if never_restarted(one.name)], ids=lambda one: one.stem
)
def test_the_documents_name_the_statuses_after_which_a_unit_stays_down(unit: Path) -> None:
    page = (CHECKOUT / "packaging" / "man" / f"{unit.stem}.8").read_text()
    for text in (page, (CHECKOUT / "docs" / "service.md").read_text()):
        [told] = re.findall(r"^After ([\d, and]+) systemd does not restart it", text, re.MULTILINE)
        named = set(map(int, re.findall(r"\d+", told)))
        assert named == never_restarted(unit.name if text == page else "wifimgrd.service")
