"""Which of several access points with one SSID is joined."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.daemon.backends.supplicant.bss_choice import BssChoice, Rank
from wifimgrd.domain.device import DeviceId, Sighting
from wifimgrd.proxies.wpa_supplicant.bss import Bss

A, B, C = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"
BSSIDS = st.sampled_from([A, B, C])
USERS = st.dictionaries(BSSIDS, st.just(DeviceId(2)), max_size=3)


def point(bssid: str, dbm: int = -50, suite: str = "wpa-psk") -> Bss:
    return Bss("/bss", b"CAM", bssid, 2412, 0, frozenset({suite} - {""}), bool(suite), dbm)


def seen(*bssids: str) -> list[Sighting]:
    return [Sighting(bssid, 2412) for bssid in bssids]


def used(*bssids: str) -> dict[str, DeviceId]:
    return dict.fromkeys(bssids, DeviceId(2))


def chosen(choice: BssChoice, *points: Bss) -> list[str]:
    return [found.bssid for found in choice.candidates(points)]


def test_of_two_that_are_nobodys_the_stronger_one_is_joined() -> None:
    assert chosen(BssChoice(), point(A, -70), point(B, -40)) == [B, A]


def test_the_one_that_the_device_was_connected_to_last_is_joined_first() -> None:
    choice = BssChoice(seen(C, A))
    assert chosen(choice, point(A), point(B, -30), point(C, -80)) == [C, A, B]


def test_one_that_is_in_use_by_another_device_is_not_joined_while_another_is_on_the_air() -> None:
    assert chosen(BssChoice(in_use=used(A)), point(A, -30), point(B, -80)) == [B]
    assert chosen(BssChoice(seen(A), in_use=used(A)), point(A), point(B)) == [B]


def test_one_that_another_attempt_is_at_is_waited_for_where_no_other_is_left() -> None:
    choice = BssChoice(attempted=used(A))
    assert chosen(choice, point(A, -30), point(B, -80)) == [B]
    assert not choice.has_to_wait([point(A), point(B)])
    refused = BssChoice(refusals={B: "password"}, attempted=used(A))
    assert chosen(refused, point(A), point(B)) == []
    assert refused.has_to_wait([point(A), point(B)])
    joined = BssChoice(in_use=used(A), refusals={B: "password"}, attempted=used(A))
    assert not joined.has_to_wait([point(A), point(B)])


def test_one_that_is_in_use_is_shared_where_it_is_the_only_one() -> None:
    assert chosen(BssChoice(in_use=used(A)), point(A)) == [A]
    assert chosen(BssChoice(seen(A), in_use=used(A)), point(A)) == [A]


def test_one_that_was_another_devices_last_comes_after_those_that_are_nobodys() -> None:
    assert chosen(BssChoice(others=used(A)), point(A, -30), point(B, -80)) == [B, A]


@pytest.mark.parametrize("choice", [BssChoice(seen(B), used(A)), BssChoice(seen(B), in_use=used(A))])
def test_a_camera_that_is_off_is_not_replaced_by_another_devices(choice: BssChoice) -> None:
    assert chosen(choice, point(A)) == []
    assert not choice.is_settled([point(A)])


def test_a_camera_that_has_another_bssid_now_is_joined() -> None:
    assert chosen(BssChoice(seen(B), used(A)), point(C)) == [C]


def test_one_that_has_refused_is_followed_by_the_next_and_not_by_one_in_use() -> None:
    choice = BssChoice(in_use=used(C), refusals={A: "password"})
    assert chosen(choice, point(A, -30), point(B), point(C)) == [B]
    assert chosen(choice, point(A), point(C)) == []


@pytest.mark.parametrize(("has_password", "bssids"), [(True, [A]), (False, [C, B]), (None, [A, B, C])])
def test_only_the_registered_kind_of_security_is_joined(
    has_password: bool | None, bssids: Sequence[str]
) -> None:
    choice = BssChoice(seen(A), has_password=has_password)
    points = [point(A), point(B, -60, ""), point(C, -50, "owe")]
    assert sorted(chosen(choice, *points)) == sorted(bssids)


@pytest.mark.parametrize(
    ("choice", "is_settled"),
    [
        (BssChoice(), True),
        (BssChoice(seen(B)), True),
        (BssChoice(seen(A)), True),
        (BssChoice(in_use=used(A)), False),
        (BssChoice(others=used(A)), False),
        (BssChoice(refusals={A: "password"}), False),
    ],
)
def test_the_search_goes_on_until_there_is_one_that_is_nobody_elses(
    choice: BssChoice, is_settled: bool
) -> None:
    assert choice.is_settled([point(A)]) is is_settled
    assert not choice.is_settled([])


def test_what_became_of_each_is_said() -> None:
    choice = BssChoice((), {B: DeviceId(7)}, used(A), {A: "connection"})
    assert choice.describe([point(C), point(B), point(A)]) == (
        f"{A} refused the connection and is in use by camera 2, {B} was last used by camera 7"
    )
    assert choice.describe([point(C)]) == ""


@given(st.lists(BSSIDS), st.lists(BSSIDS, max_size=3), USERS, USERS)
def test_no_access_point_is_shared_while_another_is_free(
    found: list[str], known: list[str], others: dict[str, DeviceId], in_use: dict[str, DeviceId]
) -> None:
    choice = BssChoice(seen(*known), others, in_use)
    ranks = [choice.rank(bssid) for bssid in chosen(choice, *map(point, found))]
    assert ranks == sorted(ranks)
    assert Rank.IN_USE not in ranks or set(ranks) == {Rank.IN_USE}
    free = {bssid for bssid in found if bssid not in in_use and bssid not in others}
    assert Rank.IN_USE not in ranks or not free
    assert len(ranks) >= len(free)
