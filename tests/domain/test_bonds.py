"""Whose a Bluetooth bond is, by what each adapter says of it."""

from __future__ import annotations

import pytest

from wifimgrd.domain.bonds import UNKNOWN, Claim, HostBonds

A, B = "00:1A:7D:DA:71:10", "00:1A:7D:DA:71:11"


def seen(claim: Claim, bonded: set[str], adapters: set[str]) -> Claim:
    return claim.seen(HostBonds(frozenset(bonded), frozenset(adapters)))


@pytest.mark.parametrize(
    ("own", "bonded", "adapters", "left"),
    [
        ({A}, {A}, {A}, {A}),
        ({A}, {A, B}, {A, B}, {A}),
        ({A}, set(), {A}, set()),
        ({A}, {B}, {B}, {A}),
        ({A, B}, {B}, {A, B}, {B}),
        ({UNKNOWN}, {A}, {A, B}, {A}),
        ({UNKNOWN}, set(), {B}, {UNKNOWN}),
        ({UNKNOWN, A}, {A}, {A}, {UNKNOWN, A}),
        (set(), {A}, {A}, set()),
    ],
)
def test_a_bond_is_forgotten_only_where_its_adapter_has_none(
    own: set[str], bonded: set[str], adapters: set[str], left: set[str]
) -> None:
    assert seen(Claim(frozenset(own)), bonded, adapters).own == left


def test_a_bond_that_comes_to_an_adapter_that_had_none_is_anothers() -> None:
    claim = seen(Claim(frozenset({UNKNOWN})), set(), {A})
    assert seen(claim, {A}, {A}) == claim
    assert seen(claim, {A, B}, {A, B}) == Claim(frozenset({B}))


def test_a_claim_is_what_its_rows_say() -> None:
    claim = Claim(frozenset({UNKNOWN, A}), frozenset({B}))
    assert Claim.of(claim.rows()) == claim
    assert Claim.of([]) == Claim()
