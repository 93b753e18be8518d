"""The steps for dead links, case by case; at random they are tested in test_link_recovery_machine.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.dead_links import HEARD, Asked, Counting, Evidence, Finding, Verdict
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import Busy, CameraBusy, InvalidRequest, NotSupported, WifimgrdError
from wifimgrd.domain.link_recovery import LIMIT_S, UNANSWERED, Accusation, LinkRecovery
from wifimgrd.domain.link_steps import CAMERA_STEPS, LinkRules, LinkStep, Situation, StepResult
from wifimgrd.domain.recovery import WINDOW_S, Condition, Health, Symptom

A, B = (AdapterIdentity(usb_port=f"1-1.{number}") for number in (1, 2))
ONBOARD = AdapterIdentity(mac="02:00:00:00:00:01")
NOSE, TAIL = DeviceId(1), DeviceId(2)
SILENT_S = LinkRules().silent_link_s
SERVICE = Evidence(Asked.ANSWERED, Counting.GREW)
CAMERA = Evidence(Asked.SILENT, Counting.GREW)
ADAPTER = Evidence(Asked.SILENT, Counting.STILL, HEARD)
NOT_KNOWN = Evidence(Asked.SILENT, Counting.NOT_COUNTED, HEARD)
EVERYTHING = LinkRules(power_ports=frozenset({"1-1.1"}), camera_steps=True)
CAME_BACK, DID_NOT = StepResult.CAME_BACK, StepResult.DID_NOT


def at(evidence: Evidence, adapter: AdapterIdentity = A) -> Situation:
    """A camera whose steps are all possible."""
    return Situation(adapter, evidence, has_other_adapter=True, can=CAMERA_STEPS)


def silenced(links: LinkRecovery, now_s: float, device: DeviceId = NOSE) -> LinkRecovery:
    """A camera has been silent for long enough at `now_s`."""
    for number in range(UNANSWERED):
        links = links.unanswered(device, now_s - SILENT_S + number)
    return links


def ladder(evidence: Evidence, rules: LinkRules = EVERYTHING) -> list[LinkStep]:
    """The steps that are taken for a camera that never answers again, each a while after the one before."""
    links, now_s = LinkRecovery(rules), 0.0
    taken: list[LinkStep] = []
    while len(taken) < len(LinkStep) + 1:
        now_s += SILENT_S
        links = silenced(links, now_s).judged(NOSE, at(evidence), now_s)
        step = links.next_step(NOSE, at(evidence), now_s)
        if step is None:
            return taken
        taken.append(step)
        links = links.started(NOSE, step, at(evidence), now_s).ended(NOSE, DID_NOT, A, now_s)
    raise AssertionError(taken)


@pytest.mark.parametrize(
    ("evidence", "own"),
    [(SERVICE, True), (CAMERA, True), (ADAPTER, False), (NOT_KNOWN, False)],
)
def test_rejoin_and_another_adapter_serve_every_verdict(evidence: Evidence, own: bool) -> None:
    own_steps = [LinkStep.CAMERA_ACCESS_POINT, LinkStep.REBOOT_CAMERA] if own else []
    assert ladder(evidence) == [LinkStep.REJOIN, LinkStep.OTHER_ADAPTER, *own_steps]
    assert ladder(evidence, LinkRules()) == [LinkStep.REJOIN, LinkStep.OTHER_ADAPTER]


def test_a_step_that_is_switched_off_is_skipped() -> None:
    rules = replace(EVERYTHING, steps=frozenset({LinkStep.OTHER_ADAPTER, LinkStep.REBOOT_CAMERA}))
    assert ladder(CAMERA, rules) == [LinkStep.OTHER_ADAPTER, LinkStep.REBOOT_CAMERA]
    assert ladder(CAMERA, replace(EVERYTHING, steps=frozenset())) == []


def test_neither_time_nor_lost_probes_suffice_by_themselves() -> None:
    quick = LinkRecovery()
    for number in range(10 * UNANSWERED):
        quick = quick.unanswered(NOSE, number)
    assert not quick.is_silent(NOSE, SILENT_S - 0.1)
    assert quick.is_silent(NOSE, SILENT_S)
    few = LinkRecovery()
    for number in range(UNANSWERED - 1):
        few = few.unanswered(NOSE, number)
    assert not few.is_silent(NOSE, WINDOW_S)
    assert few.next_step(NOSE, at(ADAPTER), WINDOW_S) is None


def test_one_answer_begins_the_silence_anew() -> None:
    links = silenced(LinkRecovery(), SILENT_S)
    assert links.is_silent(NOSE, SILENT_S)
    assert links.answered(NOSE, A) == links.link_ended(NOSE) == links.disconnected(NOSE) == LinkRecovery()


def test_each_step_is_taken_once_an_hour_for_one_camera() -> None:
    links = LinkRecovery()
    for now_s, expected in [
        (1000.0, LinkStep.REJOIN),
        (2000.0, LinkStep.OTHER_ADAPTER),
        (3000.0, None),
        (1000.0 + WINDOW_S, LinkStep.REJOIN),
    ]:
        links = silenced(links, now_s).expired(now_s)
        assert links.next_step(NOSE, at(NOT_KNOWN), now_s) == expected
        if expected is not None:
            links = links.started(NOSE, expected, at(NOT_KNOWN), now_s).ended(NOSE, CAME_BACK, A, now_s)
    other = silenced(links, 1000.0 + WINDOW_S, TAIL)
    assert other.next_step(TAIL, at(NOT_KNOWN, B), 1000.0 + WINDOW_S) is LinkStep.REJOIN


def test_a_camera_that_may_record_is_left_alone() -> None:
    links = silenced(LinkRecovery(EVERYTHING), SILENT_S)
    records = replace(at(ADAPTER), may_record=True)
    assert links.next_step(NOSE, records, SILENT_S) is None
    assert links.judged(NOSE, records, SILENT_S) == links
    assert links.commanded_step(NOSE, records, SILENT_S) is LinkStep.REJOIN
    for step in CAMERA_STEPS:
        with pytest.raises(CameraBusy):
            links.commanded_step(NOSE, records, SILENT_S, step)


def test_a_camera_whose_service_never_answered_a_probe_has_no_step() -> None:
    links = silenced(LinkRecovery(EVERYTHING), SILENT_S)
    assert links.next_step(NOSE, replace(at(SERVICE), has_answered=False), SILENT_S) is None
    assert links.next_step(NOSE, replace(at(CAMERA), has_answered=False), SILENT_S) is LinkStep.REJOIN


def accused(rules: LinkRules = EVERYTHING, now_s: float = SILENT_S) -> LinkRecovery:
    """Adapter A is at fault by the link of NOSE."""
    return silenced(LinkRecovery(rules), now_s).judged(NOSE, at(ADAPTER), now_s)


def test_an_accused_adapter_is_reset_once_it_is_idle() -> None:
    links = accused()
    assert links.adapters[A].accusation == Accusation(NOSE, Finding.HEARD_ELSEWHERE, SILENT_S)
    assert links.due(SILENT_S, {B}) == []
    assert links.due(SILENT_S, {A}, {NOSE}) == [], "its camera may record"
    assert links.due(SILENT_S, {A}, {TAIL}) == [(A, LinkStep.RESET_PORT)]
    assert replace(links, rules=replace(EVERYTHING, silent_link_s=0)).due(SILENT_S, {A}) == []


def test_the_power_of_a_port_is_switched_if_a_reset_failed_and_the_port_is_named() -> None:
    links = accused().port_started(A, LinkStep.RESET_PORT, SILENT_S)
    assert links.obstacle(A) == "being recovered (reset-port)"
    assert links.due(SILENT_S, {A}) == []
    assert links.adapter_removed(A) is links, "the step has removed it"
    failed = links.port_ended(A, is_done=False)
    assert failed.due(SILENT_S, {A}) == [(A, LinkStep.POWER_PORT)]
    assert replace(failed, rules=LinkRules()).due(SILENT_S, {A}) == []
    assert links.port_ended(A, is_done=True).due(SILENT_S, {A}) == [], "that needs new evidence"
    assert links.port_ended(A, is_done=True).adapter_removed(A).adapters == {}


def test_an_answer_through_an_adapter_clears_it() -> None:
    assert accused().answered(TAIL, A).adapters == {}
    assert accused().answered(TAIL, B).adapters == accused().adapters
    assert accused().removed(NOSE) == LinkRecovery(EVERYTHING)


@pytest.mark.parametrize("evidence", [SERVICE, CAMERA])
def test_later_evidence_that_it_receives_clears_an_adapter(evidence: Evidence) -> None:
    assert accused().judged(NOSE, at(evidence), SILENT_S).adapters == {}
    assert accused().judged(NOSE, at(NOT_KNOWN), SILENT_S) == accused()


def test_an_accusation_ends_by_itself() -> None:
    links = accused().link_ended(NOSE)
    assert links.next_s() == SILENT_S + WINDOW_S
    assert links.expired(SILENT_S + WINDOW_S) == LinkRecovery(EVERYTHING)


def moved(evidence: Evidence, result: StepResult, *, after_rejoin: bool = True) -> LinkRecovery:
    """NOSE was moved from adapter A to B; a rejoin had not helped."""
    links = LinkRecovery(EVERYTHING)
    if after_rejoin:
        links = links.started(NOSE, LinkStep.REJOIN, at(evidence), 1).ended(NOSE, DID_NOT, A, 2)
    return links.started(NOSE, LinkStep.OTHER_ADAPTER, at(evidence), 3).ended(NOSE, result, B, 4)


def test_what_another_adapter_heals_after_a_rejoin_did_not_was_the_first_ones_fault() -> None:
    assert moved(NOT_KNOWN, CAME_BACK).due(5, {A}) == [(A, LinkStep.RESET_PORT)]
    assert moved(NOT_KNOWN, CAME_BACK).adapters[A].accusation is not None
    assert moved(NOT_KNOWN, CAME_BACK, after_rejoin=False).adapters == {}
    assert moved(NOT_KNOWN, StepResult.NOT_KNOWN).adapters == {}


@pytest.mark.parametrize("evidence", [SERVICE, CAMERA])
def test_an_adapter_that_was_seen_to_receive_is_not_accused_by_another_one(evidence: Evidence) -> None:
    assert moved(evidence, CAME_BACK).adapters == {}


def test_a_camera_that_is_silent_through_two_adapters_accuses_neither() -> None:
    links = moved(ADAPTER, DID_NOT)
    assert links.adapters == {}
    links = silenced(links, 1000).judged(NOSE, at(ADAPTER, B), 1000)
    assert links.adapters == {}
    assert links.finding(NOSE, at(ADAPTER, B)) is Finding.SILENT_ELSEWHERE
    assert links.finding(NOSE, at(ADAPTER, B)).verdict is Verdict.CAMERA
    assert links.next_step(NOSE, at(ADAPTER, B), 1000) is LinkStep.CAMERA_ACCESS_POINT


def test_a_step_that_never_ends_is_over_after_its_limit() -> None:
    links = LinkRecovery().started(NOSE, LinkStep.REJOIN, at(CAMERA), 10)
    assert links.next_s() == 10 + LIMIT_S
    assert links.expired(10 + LIMIT_S).cameras[NOSE].running is None
    assert links.disconnected(NOSE).cameras[NOSE].running is None
    assert links.disconnected(NOSE).expired(10 + WINDOW_S) == LinkRecovery()


@pytest.mark.parametrize(
    ("wanted", "situation", "error"),
    [
        (LinkStep.OTHER_ADAPTER, replace(at(CAMERA), has_other_adapter=False), Busy),
        (LinkStep.RESET_PORT, replace(at(ADAPTER), is_port_shared=True), Busy),
        (LinkStep.RESET_PORT, at(ADAPTER, ONBOARD), NotSupported),
        (LinkStep.POWER_PORT, at(ADAPTER, B), InvalidRequest),
        (LinkStep.REBOOT_CAMERA, replace(at(CAMERA), can=frozenset()), NotSupported),
    ],
)
def test_a_command_that_cannot_be_done_says_why(
    wanted: LinkStep, situation: Situation, error: type[WifimgrdError]
) -> None:
    with pytest.raises(error):
        LinkRecovery(EVERYTHING).commanded_step(NOSE, situation, 0, wanted)


def test_a_command_takes_the_next_step_and_is_never_too_early() -> None:
    links, taken = LinkRecovery(EVERYTHING), []
    for now_s in range(6):
        step = links.commanded_step(NOSE, at(ADAPTER), now_s)
        links = links.started(NOSE, step, at(ADAPTER), now_s)
        with pytest.raises(Busy):
            links.commanded_step(NOSE, at(ADAPTER), now_s)
        links = links.port_ended(A, is_done=True).ended(NOSE, CAME_BACK, A, now_s)
        taken.append(step)
    ports = [LinkStep.RESET_PORT, LinkStep.POWER_PORT]
    assert taken == [LinkStep.REJOIN, LinkStep.OTHER_ADAPTER, *ports, LinkStep.REJOIN, LinkStep.OTHER_ADAPTER]


def test_a_command_counts_as_a_step() -> None:
    links = LinkRecovery().started(NOSE, LinkStep.REJOIN, at(CAMERA), 0).ended(NOSE, CAME_BACK, A, 1)
    links = silenced(links, 1000)
    assert links.next_step(NOSE, at(CAMERA), 1000) is LinkStep.OTHER_ADAPTER


def test_a_command_for_a_step_that_is_switched_off_has_to_name_it() -> None:
    off = LinkRecovery(LinkRules(steps=frozenset()))
    with pytest.raises(NotSupported, match=rf"name one, as in `wifimgrctl recover {NOSE} --step rejoin`"):
        off.commanded_step(NOSE, at(CAMERA), 0)
    assert off.commanded_step(NOSE, at(CAMERA), 0, LinkStep.REBOOT_CAMERA) is LinkStep.REBOOT_CAMERA


def test_an_accused_adapter_is_suspect_until_its_port_was_reset() -> None:
    links = accused(now_s=100.0)
    assert links.condition(A) == Condition(Health.SUSPECT, Symptom.DEAD_LINK, 100.0)
    links = links.port_started(A, LinkStep.RESET_PORT, 150.0)
    assert links.condition(A) == Condition(Health.RECOVERING, Symptom.DEAD_LINK, 100.0, LinkStep.RESET_PORT)
    refused = links.port_ended(A, is_done=False).condition(A)
    assert refused == Condition(Health.SUSPECT, Symptom.DEAD_LINK, 100.0, LinkStep.RESET_PORT)
    assert links.port_ended(A, is_done=True).condition(A) == Condition()


def test_a_reset_for_another_reason_counts_from_its_begin_and_settles_an_accusation_at_its_end() -> None:
    links = accused(now_s=100.0).port_taken(A, LinkStep.RESET_PORT, 150.0)
    assert links.due(150.0, {A}) == [(A, LinkStep.POWER_PORT)], "once it has ended"
    assert links.port_ended(A, is_done=False).is_suspect(A)
    links = links.port_ended(A, is_done=True)
    assert not links.is_suspect(A)
    again = silenced(links.answered(NOSE, A), 400.0).judged(NOSE, at(ADAPTER), 400.0)
    assert again.due(400.0, {A}) == [(A, LinkStep.POWER_PORT)]
