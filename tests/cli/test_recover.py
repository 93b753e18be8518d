"""A recovery step: its command, its words in every view, and its rows of the history."""

from __future__ import annotations

import argparse
import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

import pytest

from tests.http.fake_hub import FakeHub
from wifimgrd.cli._arguments import parser
from wifimgrd.cli._commands import device_command
from wifimgrd.cli._history import history
from wifimgrd.cli._outcome import summary
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._times import local_time
from wifimgrd.cli._views import device_view
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import CameraBusy, DeviceNotReachable
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.records import DeviceRecord, HistoryRecord
from wifimgrd.domain.sentences import STEP_WORDS

SILENT: Final = DeviceRecord(1, "Front", state="connected", interface="wlan0", reachable=False)
BEGAN: Final = 1_764_000_000_000_000
S: Final = 1_000_000
ROW: Final = HistoryRecord(
    id=7,
    time=BEGAN,
    kind="recovery",
    device_id=1,
    device_name="Front",
    interface="wlan0",
    code="rejoin",
    message=(
        "The camera's access point is received, and the camera does not answer ARP."
        " Joining the camera's network again has helped: the camera answers again."
    ),
    ended=BEGAN + 14 * S,
)


def screen(columns: int | None = None) -> Screen:
    return Screen(json=False, out=io.StringIO(), err=io.StringIO(), columns=columns)


def printed(on: Screen) -> str:
    assert isinstance(on.out, io.StringIO)
    assert isinstance(on.err, io.StringIO)
    return on.out.getvalue() + on.err.getvalue()


async def ran(hub: FakeHub, *line: str) -> tuple[bool, str]:
    """Whether a command has succeeded, and what it printed."""
    shown = screen()
    succeeded = await device_command(hub, parser().parse_args(["recover", *line]), shown)
    return succeeded, printed(shown)


def hub_of(device: DeviceRecord) -> FakeHub:
    hub = FakeHub()
    hub.appear(device)
    return hub


async def test_it_waits_until_the_camera_answers() -> None:
    hub = hub_of(replace(SILENT, reachable=True))
    assert await ran(hub, "Front") == (True, "Front answers, through wlan0\n")
    [(command, device, wait_s)] = hub.asked
    assert (command, device, hub.switches) == ("recover", 1, {})
    assert wait_s >= 180, "longer than the step of the longest, a reboot"


async def test_a_camera_whose_answer_is_not_known_does_not_answer() -> None:
    words = "Front is connected, but not answering through wlan0\n"
    assert await ran(hub_of(SILENT), "Front") == (True, words)


async def test_a_step_is_named() -> None:
    hub = hub_of(replace(SILENT, reachable=True))
    succeeded, _ = await ran(hub, "1", "--step", "reboot-camera")
    assert (succeeded, hub.switches) == (True, {"step": "reboot-camera"})


async def test_a_step_that_is_none_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["recover", "Front", "--step", "replug"])
    assert ended.value.code == 2
    assert "other-adapter" in capsys.readouterr().err


async def test_without_waiting_it_names_the_step_that_runs() -> None:
    running = replace(SILENT, state="connecting", recovery_step="rejoin")
    for device, words in (
        (SILENT, "being recovered"),
        (running, "recovering: joining the camera's network again"),
    ):
        hub = hub_of(device)
        assert await ran(hub, "Front", "--no-wait") == (True, f"Front is {words}\n")
        assert hub.asked == [("recover", 1, 0)]


@pytest.mark.parametrize(
    "error", [DeviceNotReachable("it does not answer"), CameraBusy("the camera records")]
)
async def test_why_it_fails(error: Exception) -> None:
    hub = hub_of(SILENT)
    hub.answer = error
    succeeded, text = await ran(hub, "Front")
    assert not succeeded
    assert text.startswith(f"wifimgrctl: {error}")


@pytest.mark.parametrize("step", LinkStep)
def test_the_step_that_runs_is_in_words_and_by_its_name(step: LinkStep) -> None:
    device = replace(SILENT, state="connecting", recovery_step=step.value)
    lines = [line.split(maxsplit=2) for line in device_view(device, screen())]
    words = STEP_WORDS[step]
    assert ["Recovery", "step", f"{words} ({step})"] in lines
    assert summary(device) == f"Front is recovering: {words}"


def test_a_step_of_a_later_version_is_shown_by_its_name() -> None:
    device = replace(SILENT, recovery_step="a-later-one")
    assert ["Recovery", "step", "a-later-one"] in [one.split() for one in device_view(device, screen())]
    assert summary(device) == "Front is recovering: a-later-one"


@dataclass
class Rows:
    """A hub with a history."""

    rows: list[HistoryRecord]
    devices: Mapping[int, DeviceRecord] = field(default_factory=dict)

    async def history(self, *_: Any, **__: Any) -> list[HistoryRecord]:
        return self.rows


async def shown(*rows: HistoryRecord, columns: int | None = None) -> list[str]:
    on = screen(columns)
    arguments = argparse.Namespace(signal=False, device=None, since=None)
    assert await history(cast("HubClient", Rows([*rows])), arguments, on)
    return printed(on).splitlines()


async def test_a_row_says_how_long_it_lasted_and_why() -> None:
    _, line = await shown(ROW)
    assert line.split(maxsplit=5)[:5] == [*local_time(BEGAN).split(), "Front", "wlan0", "recovery"]
    assert line.endswith(f" 14 s    {ROW.message} (rejoin)")


async def test_a_step_that_runs_lasts_so_far() -> None:
    _, line = await shown(replace(ROW, ended=None))
    assert " so far " in line


async def test_its_rows_fit_a_terminal_and_nothing_is_left_out() -> None:
    longest = replace(ROW, device_name="Camera at the bow", code="camera-access-point")
    lines = await shown(longest, columns=80)
    assert max(map(len, lines)) <= 80
    text = " ".join(line.strip() for line in lines)
    assert f"{ROW.message} (camera-access-point)" in text
