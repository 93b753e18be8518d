"""The start of the helper by the message bus."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, BusError, MethodCall
from wifimgrd.daemon.helper_client.helper import HelperLinks
from wifimgrd.wire import helper_calls

_BUS = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path={folder}/bus</listen>
  <servicedir>{folder}</servicedir>
  <limit name="service_start_timeout">3000</limit>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""
_SERVICE = """\
[D-BUS Service]
Name={name}
Exec=/bin/sh -c "echo started > {folder}/starts; exec sleep 60"
"""


@pytest.fixture
def message_bus(tmp_path: Path) -> Iterator[MessageBusDaemon]:
    """A message bus that starts the helper, which writes a line to `starts` and never comes."""
    configuration = tmp_path / "bus.conf"
    configuration.write_text(_BUS.format(folder=tmp_path))
    (tmp_path / "helper.service").write_text(_SERVICE.format(name=helper_calls.BUS_NAME, folder=tmp_path))
    os.mkfifo(tmp_path / "starts")
    with MessageBusDaemon.start(configuration) as daemon:
        yield daemon


@pytest.fixture
async def links(message_bus: MessageBusDaemon) -> AsyncIterator[HelperLinks]:
    bus = await BusConnection.open(message_bus.address)
    yield HelperLinks(bus)
    await bus.close()


async def _next_start(folder: Path) -> None:
    await asyncio.to_thread((folder / "starts").read_text)


async def test_a_call_that_waited_for_a_start_in_vain_starts_the_helper_once_more(
    message_bus: MessageBusDaemon, links: HelperLinks, tmp_path: Path
) -> None:
    calls = []
    helper = await BusConnection.open(message_bus.address)

    def serve(call: MethodCall) -> None:
        calls.append((call.member, call.body))
        helper.reply(call)

    helper.serve(serve)
    releasing = asyncio.create_task(links.release_link("wlan0"))
    await _next_start(tmp_path)
    await _next_start(tmp_path)
    await helper.request_name(helper_calls.BUS_NAME)
    await releasing
    assert calls == [("ReleaseLink", ["wlan0"])]
    await helper.close()


async def test_a_helper_that_never_comes_is_started_twice(links: HelperLinks, tmp_path: Path) -> None:
    releasing = asyncio.create_task(links.release_link("wlan0"))
    await _next_start(tmp_path)
    await _next_start(tmp_path)
    with pytest.raises(BusError, match="timed out"):
        await releasing
