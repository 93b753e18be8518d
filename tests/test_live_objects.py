"""The copy of the daemon's objects that its clients have: it comes back when the daemon does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.client import _live_objects
from wifimgrd.client.hub import HubClient

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={folder}/bus</listen>
  <servicedir>{folder}</servicedir>
  <auth>EXTERNAL</auth>
  <policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
"""
SERVICE = "[D-BUS Service]\nName=org.wifimgrd1\nExec={folder}/started\n"
STARTED = """#!/bin/sh
export STATE_DIRECTORY={folder}/state
if [ -e {folder}/failed ]; then exec {python} -m wifimgrd.daemon --simulate --bus "$DBUS_STARTER_ADDRESS"; fi
touch {folder}/failed
exit 1
"""


async def test_a_daemon_that_could_not_be_started_once_is_started_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_live_objects, "_START_AGAIN_S", 0.01)
    for name, text in (("bus.conf", BUS), ("org.wifimgrd1.service", SERVICE), ("started", STARTED)):
        (tmp_path / name).write_text(text.format(folder=tmp_path, python=sys.executable))
    (tmp_path / "started").chmod(0o755)
    with MessageBusDaemon.start(tmp_path / "bus.conf") as bus:
        client = HubClient(bus.address)
        await client.start()
        try:
            assert (client.available, client.reason) == (False, "wifimgrd is not running")
            await client.wait_until(lambda one: one.available, 60)
        finally:
            await client.stop()
