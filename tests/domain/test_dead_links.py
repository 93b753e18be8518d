"""What is at fault at a link that is up and dead; the invariants of wifimgrd.domain.dead_links."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.dead_links import (
    HEARD,
    STILL_S,
    Asked,
    Counters,
    Counting,
    Evidence,
    Finding,
    Verdict,
    compare,
    judge,
)

EVIDENCE = st.builds(
    Evidence,
    arp=st.sampled_from(Asked),
    counting=st.sampled_from(Counting),
    heard=st.integers(0, 5),
    elsewhere=st.sampled_from(Asked),
)
COUNTS = st.none() | st.integers(0, 1000)
COUNTERS = st.builds(Counters, at_s=st.floats(0, 1000), connected_s=COUNTS, beacons=COUNTS, packets=COUNTS)
ALIVE_FOR = 3000
HEALTHY = Counters(0.0, ALIVE_FOR, beacons=ALIVE_FOR * 10, packets=ALIVE_FOR * 12)
DEAD = Evidence(Asked.SILENT, Counting.STILL, HEARD)


@pytest.mark.parametrize(
    ("arp", "counting", "heard", "verdict"),
    [
        (Asked.ANSWERED, Counting.GREW, 0, Verdict.SERVICE),
        (Asked.SILENT, Counting.GREW, 0, Verdict.CAMERA),
        (Asked.SILENT, Counting.GREW, HEARD, Verdict.CAMERA),
        (Asked.SILENT, Counting.STILL, HEARD, Verdict.ADAPTER),
        (Asked.SILENT, Counting.STILL, HEARD - 1, Verdict.NOT_KNOWN),
        (Asked.SILENT, Counting.STILL, 0, Verdict.NOT_KNOWN),
        (Asked.NOT_ASKED, Counting.STILL, HEARD, Verdict.NOT_KNOWN),
        (Asked.ANSWERED, Counting.NOT_COUNTED, 0, Verdict.SERVICE),
        (Asked.SILENT, Counting.NOT_COUNTED, HEARD, Verdict.NOT_KNOWN),
        (Asked.NOT_ASKED, Counting.GREW, 0, Verdict.NOT_KNOWN),
        (Asked.NOT_ASKED, Counting.NOT_COUNTED, 0, Verdict.NOT_KNOWN),
    ],
)
def test_each_row_that_was_measured_has_its_verdict(
    arp: Asked, counting: Counting, heard: int, verdict: Verdict
) -> None:
    assert judge(Evidence(arp, counting, heard)).verdict is verdict


def test_of_a_driver_that_counts_nothing_a_try_with_another_adapter_decides() -> None:
    filtered = Evidence(Asked.SILENT, Counting.NOT_COUNTED, HEARD)
    assert judge(filtered) is Finding.NOT_COUNTED
    assert judge(replace(filtered, elsewhere=Asked.ANSWERED)).verdict is Verdict.ADAPTER
    assert judge(replace(filtered, elsewhere=Asked.SILENT)).verdict is Verdict.CAMERA


@given(EVIDENCE)
def test_an_adapter_that_receives_is_never_accused(evidence: Evidence) -> None:
    receives = evidence.arp is Asked.ANSWERED or evidence.counting is Counting.GREW
    if receives or evidence.elsewhere is Asked.SILENT:
        assert judge(evidence).verdict is not Verdict.ADAPTER


@given(EVIDENCE)
def test_an_adapter_is_accused_by_two_observations_that_agree(evidence: Evidence) -> None:
    if judge(evidence).verdict is Verdict.ADAPTER:
        by_scans = evidence.counting is Counting.STILL and evidence.heard >= HEARD > 1
        assert by_scans or evidence.elsewhere is Asked.ANSWERED


@given(EVIDENCE, st.integers(0, 1))
def test_neither_one_scan_nor_one_probe_accuses_an_adapter(evidence: Evidence, heard: int) -> None:
    few = replace(evidence, heard=heard, elsewhere=Asked.NOT_ASKED)
    assert judge(few).verdict is not Verdict.ADAPTER


@given(EVIDENCE, st.lists(st.just(False), max_size=9))
def test_scans_that_hear_nothing_say_nothing(evidence: Evidence, scans: list[bool]) -> None:
    after = evidence
    for heard in scans:
        after = after.scanned(heard)
    assert after == evidence


@given(EVIDENCE)
def test_what_was_seen_once_stays_seen(evidence: Evidence) -> None:
    answered = evidence.asked(True)
    assert answered.asked(False) == answered
    grew = evidence.counted(Counting.GREW)
    for counting in Counting:
        assert grew.counted(counting) == grew
    assert evidence.counted(Counting.NOT_COUNTED) == evidence


@given(EVIDENCE)
def test_a_camera_is_only_at_fault_if_something_says_that_it_is_there(evidence: Evidence) -> None:
    if judge(evidence).verdict is Verdict.CAMERA:
        assert evidence.counting is Counting.GREW or evidence.elsewhere is Asked.SILENT
    if judge(evidence).verdict is Verdict.SERVICE:
        assert evidence.arp is Asked.ANSWERED


@pytest.mark.parametrize("finding", Finding)
def test_each_finding_is_one_sentence(finding: Finding) -> None:
    assert finding.endswith(".")
    assert finding.count(".") == 1
    assert finding[0].isupper()
    assert finding.verdict in Verdict


def later(seconds: float, beacons: int = 0, packets: int = 0) -> Counters:
    """The counters of the healthy link some time later."""
    assert HEALTHY.beacons is not None
    assert HEALTHY.packets is not None
    return Counters(seconds, ALIVE_FOR + int(seconds), HEALTHY.beacons + beacons, HEALTHY.packets + packets)


def test_one_frame_is_proof_that_the_adapter_receives() -> None:
    assert compare(HEALTHY, later(STILL_S, beacons=1)) is Counting.GREW
    assert compare(HEALTHY, later(STILL_S, packets=1)) is Counting.GREW
    assert compare(HEALTHY, later(1, packets=1)) is Counting.GREW


def test_counters_stand_still_only_after_a_time() -> None:
    assert compare(HEALTHY, later(STILL_S)) is Counting.STILL
    assert compare(HEALTHY, later(STILL_S - 0.1)) is Counting.NOT_COUNTED


@pytest.mark.parametrize("beacons", [None, 0, 3, ALIVE_FOR // 2 - 1])
def test_where_the_firmware_filters_beacons_nothing_is_counted(beacons: int | None) -> None:
    before, after = replace(HEALTHY, beacons=beacons), replace(later(60), beacons=beacons)
    assert compare(before, after) is Counting.NOT_COUNTED


def test_counters_of_another_association_are_not_compared() -> None:
    assert compare(HEALTHY, Counters(60, 5, beacons=50, packets=60)) is Counting.NOT_COUNTED
    assert compare(HEALTHY, replace(later(60), beacons=50, connected_s=None)) is Counting.NOT_COUNTED
    assert compare(None, HEALTHY) is compare(HEALTHY, None) is Counting.NOT_COUNTED


@given(COUNTERS, COUNTERS)
def test_counters_stand_still_only_where_both_readings_say_so(before: Counters, after: Counters) -> None:
    if compare(before, after) is Counting.STILL:
        assert before.beacons == after.beacons != 0
        assert before.packets is None or after.packets is None or before.packets == after.packets
        assert after.at_s - before.at_s >= STILL_S
