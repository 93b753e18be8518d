"""Sentences of the history: they are understood without the row's other columns."""

from __future__ import annotations

import pytest

from wifimgrd.domain import sentences
from wifimgrd.domain.dead_links import Finding
from wifimgrd.domain.link_steps import LinkStep, StepResult

SILENT = Finding.ANSWERS_ARP.value
BY_COMMAND = sentences.step_by_command(Finding.ANSWERS_ARP, is_silent=False)


def ended(why: str, step: LinkStep, result: StepResult, *, through: str = "wlan0", failure: str = "") -> str:
    """The sentences after the reason of a step whose dead link was through wlan0."""
    text = sentences.link_step_ended(why, step, result, before="wlan0", through=through, failure=failure)
    assert text.startswith(f"{why} ")
    return text[len(why) + 1 :]


@pytest.mark.parametrize("result", StepResult)
@pytest.mark.parametrize("step", LinkStep)
def test_each_result_names_the_step(step: LinkStep, result: StepResult) -> None:
    words = sentences.STEP_WORDS[step]
    for why in (SILENT, BY_COMMAND):
        assert ended(why, step, result).startswith(words[0].upper() + words[1:])
    assert words in sentences.step_unseen(SILENT, step).lower().replace("usb", "USB")


def test_a_step_has_helped_a_silent_camera_or_has_not() -> None:
    told = [ended(SILENT, LinkStep.REJOIN, one) for one in StepResult]
    assert told == [
        "Joining the camera's network again has helped: the camera answers again.",
        "Joining the camera's network again has not helped: the camera has not come back.",
        "Joining the camera's network again: whether that has helped is not known.",
    ]


def test_of_a_camera_that_was_not_silent_nobody_says_that_it_answers_again() -> None:
    told = ended(BY_COMMAND, LinkStep.REJOIN, StepResult.CAME_BACK)
    assert told == "Joining the camera's network again: the camera answers."


def test_an_adapter_that_is_another_one_is_named() -> None:
    told = ended(SILENT, LinkStep.OTHER_ADAPTER, StepResult.CAME_BACK, through="wlan1")
    assert told.endswith("has helped: the camera answers again, through wlan1.")


@pytest.mark.parametrize("step", [LinkStep.RESET_PORT, LinkStep.POWER_PORT])
def test_a_step_of_a_port_has_not_helped_where_another_adapter_serves(step: LinkStep) -> None:
    told = ended(SILENT, step, StepResult.CAME_BACK, through="wlan1")
    assert "helped" not in told
    assert told.endswith(": the camera answers again, through wlan1, and not through wlan0.")


@pytest.mark.parametrize(
    ("result", "last"),
    [
        (StepResult.CAME_BACK, "The camera answers again, through wlan1."),
        (StepResult.DID_NOT, "The camera has not come back."),
    ],
)
def test_why_a_step_has_failed_comes_before_what_came_of_it(result: StepResult, last: str) -> None:
    told = ended(SILENT, LinkStep.POWER_PORT, result, through="wlan1", failure="the adapter is lost")
    step = "Switching the USB port of the camera's adapter off and on"
    assert told == f"{step} has failed: the adapter is lost. {last}"


@pytest.mark.parametrize(
    "why", ["the camera refused: msg execute err.", "the camera refused: msg execute err"]
)
def test_what_a_camera_says_ends_with_one_full_stop(why: str) -> None:
    told = sentences.recording_refused(why, on=True)
    assert told == "It did not start recording: the camera refused: msg execute err."
