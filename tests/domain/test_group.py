"""The members of a group, and single decisions for it; all decisions are in test_group_machine.py."""

from __future__ import annotations

import pytest

from wifimgrd.domain.adapter import Adapter, AdapterIdentity, AdapterPin, Band
from wifimgrd.domain.allocator import AllocationRules, Allocator, Claim
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import NoInterfaceAvailable
from wifimgrd.domain.group import Holder, Member, plan_group
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.reservation import Reservation, Reservations

ONE, TWO, THREE, FOUR = map(DeviceId, (1, 2, 3, 4))
NAMES = {ONE: "Nose", TWO: "Tail", THREE: "7"}


def hub(*held: DeviceId, rules: AllocationRules | None = None) -> Allocator:
    """An adapter for each of these devices, in their order."""
    allocator = Allocator(rules or AllocationRules())
    for number, device_id in enumerate(held):
        identity = AdapterIdentity(usb_port=f"1-{number}")
        allocator = allocator.add(Adapter(f"wlan{number}", identity, usb_vendor_id="0bda"))
        allocator = allocator.adopt(device_id, f"wlan{number}")
    return allocator


def name_of(device_id: DeviceId) -> str:
    return NAMES.get(device_id, "")


def test_the_camera_of_the_lowest_priority_gives_its_adapter_up() -> None:
    plan = plan_group(hub(ONE, TWO), [Member(Claim(THREE))], [Holder(ONE, 5), Holder(TWO, -1)], name_of)
    assert plan.freed == (TWO,)
    assert plan.interfaces == {THREE: "wlan1"}


def test_of_equal_priority_the_later_one_does_after_those_that_nobody_asked_for() -> None:
    unasked = Holder(ONE, is_commanded=False)
    plan = plan_group(hub(ONE, TWO), [Member(Claim(THREE))], [unasked, Holder(TWO)], name_of)
    assert plan.freed == (ONE,)
    plan = plan_group(hub(ONE, TWO), [Member(Claim(THREE))], [Holder(ONE), Holder(TWO)], name_of)
    assert plan.freed == (TWO,)


def test_a_band_may_need_the_adapter_of_a_camera_of_higher_priority() -> None:
    allocator = hub(ONE, TWO).update_facts("wlan1", BackendFacts(bands=frozenset({Band.GHZ_2_4})))
    member = Member(Claim(THREE, bands=frozenset({Band.GHZ_5})))
    plan = plan_group(allocator, [member], [Holder(ONE, 9), Holder(TWO)], name_of)
    assert plan.freed == (ONE,)


def test_an_adapter_that_is_kept_for_another_camera_is_not_taken_from_it() -> None:
    rules = AllocationRules(reservations=Reservations((Reservation(ONE, AdapterPin(usb_port="1-0")),)))
    with pytest.raises(NoInterfaceAvailable) as refused:
        plan_group(hub(ONE, rules=rules), [Member(Claim(THREE))], [Holder(ONE)], name_of)
    assert refused.value.reasons == {"wlan0": 'reserved for "Nose"'}


def test_a_refusal_names_the_member_and_why_each_adapter_is_not_for_it() -> None:
    members = [Member(Claim(TWO), 1), Member(Claim(FOUR))]
    with pytest.raises(NoInterfaceAvailable) as refused:
        plan_group(hub(ONE, THREE), members, [Holder(THREE)], name_of)
    assert refused.value.message == (
        'camera 4: no Wi-Fi interface is available: wlan0 (in use by "Nose"), wlan1 (needed for "Tail")'
    )


def test_without_adapters_a_part_of_the_group_is_none_of_it() -> None:
    plan = plan_group(Allocator(), [Member(Claim(ONE))], [], name_of, partial=True)
    assert (plan.interfaces, plan.freed, set(plan.refusals)) == ({}, (), {ONE})


def test_a_promised_radio_comes_before_every_other() -> None:
    rules = AllocationRules(reservations=Reservations((Reservation(THREE, AdapterPin(usb_port="1-0")),)))
    allocator = hub(ONE, TWO, rules=rules).release(ONE).release(TWO).promise(THREE, "wlan1")
    assert allocator.would_get(Claim(THREE)) == "wlan1"
    assert allocator.mark("wlan1", "does not work", suspect=False).would_get(Claim(THREE)) == "wlan0"


def test_a_promised_radio_is_refused_to_others_with_the_reason() -> None:
    allocator = hub(ONE).release(ONE).promise(TWO, "wlan0")
    with pytest.raises(NoInterfaceAvailable, match=r'wlan0 \(needed for "Tail"\)'):
        allocator.assign(Claim(ONE), name_of)
