"""The daemon's report: what it leaves out, how large and how often it is made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

from tests.processes import Hub
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.config.configuration import Config, Http, Interfaces, Map, Platform, Reserve, Tiles, TileSource
from wifimgrd.daemon import _report as daemon_report
from wifimgrd.daemon._report import KEPT_S, DaemonReport, Facts, report_text
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.history import HistoryKind, HistoryRow
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.records import DeviceRecord, ServiceRecord
from wifimgrd.report.settings import settings_of
from wifimgrd.runtime.tasks import Tasks


def facts(
    *devices: DeviceRecord, config: Config | None = None, history: tuple[HistoryRow, ...] = ()
) -> Facts:
    return Facts(ServiceRecord(), {}, devices, config or Config(), history, {"Hub.run": 2}, [])


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from texts_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one)
    elif isinstance(value, str):
        yield value


def test_settings_that_are_free_text_are_only_said_to_be_set() -> None:
    source = TileSource("martha", "upstream", url="http://martha/{z}/{x}/{y}?key=s3cret")
    config = Config(
        platform=Platform("martha"),
        interfaces=Interfaces(exclude=("martha*",), reserve=(Reserve("martha", usb_port="1-1.martha"),)),
        http=Http(allowed_hosts=("martha.example",), token_file=Path("/home/martha/token")),
        tiles=Tiles((source,)),
        map=Map(style=Path("/home/martha/style.json")),
    )
    settings = settings_of(config)
    assert set(texts_in(settings)) == {
        *("(set)", "", "auto", "usb", "upstream", "10.77.0.0/24"),
        *("rescan", "restart", "replug", "quarantine"),
        *LinkStep,
    }
    assert settings["http"]["token_file"] == "(set)"
    assert settings["connect"]["timeout_s"] == 20.0


def test_a_row_of_the_history_has_no_names() -> None:
    row = HistoryRow(
        7, 1_700_000_000_000_000, HistoryKind.FAILURE, DeviceId(3), "Martha", "wlan0", "device-not-reachable",
        "the network Martha-Net was not seen",
    )  # fmt: skip
    text = report_text(facts(history=(row,)), b"key", "host-of-test")
    assert "2023-11-14T22:13:20.000000Z  failure  device-not-reachable  device 3  wlan0\n" in text
    assert "Martha" not in text


def test_names_of_devices_that_are_not_listed_are_hidden_too() -> None:
    many = [DeviceRecord(number, f"Camera {number}", ssid=b"net-%d" % number) for number in range(2, 102)]
    first = DeviceRecord(1, "First", ssid=b"first", connection_error_message="Camera 101 has taken wlan0")
    text = report_text(facts(first, *many), b"key", "host-of-test")
    assert "Camera" not in text
    assert '"devices_in_all": 101' in text
    assert text.count('"codename"') == 100


def test_a_long_report_is_cut() -> None:
    devices = [DeviceRecord(number, f"\u00e9 {number}") for number in range(1, 50)]
    with patch.object(daemon_report, "LARGEST", 8000):
        text = report_text(facts(*devices), b"key", "host-of-test")
    assert len(text.encode()) <= 8000
    assert text.endswith("(The rest is left out: a report has at most 256 kB.)\n")


async def test_who_requests_one_soon_after_gets_the_same(hub: Hub) -> None:
    before = await hub.client.diagnose()
    await hub.create(1)
    assert await hub.client.diagnose() == before


@pytest.mark.parametrize("first", ["1", OSError("no")])
def test_who_requests_one_later_gets_a_new_one(first: str | OSError) -> None:
    results = iter((first, "2"))

    async def make(_: DaemonReport) -> str:
        result = next(results)
        if isinstance(result, OSError):
            raise result
        return result

    async def request() -> None:
        tasks = Tasks("test")
        report = DaemonReport(MagicMock(), Config, MagicMock(), tasks, tasks)
        [result] = await asyncio.gather(report.text(), return_exceptions=True)
        assert result == first
        await asyncio.sleep(KEPT_S + 1)
        assert await report.text() == "2"

    with patch.object(DaemonReport, "_make", make), asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(request())
