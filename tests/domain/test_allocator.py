"""Which interface a device gets, and the error where it gets none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wifimgrd.domain.adapter import Adapter, AdapterIdentity, AdapterPin, Band
from wifimgrd.domain.allocator import AllocationRules, Allocator, Claim
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import ErrorCode, InterfaceNotFound, NoInterfaceAvailable
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.reservation import Reservation, Reservations

ONE, TWO, THREE = DeviceId(1), DeviceId(2), DeviceId(3)


def adapter(number: int, port: str = "", rfkill: str = "") -> Adapter:
    identity = AdapterIdentity(f"02:00:00:00:00:{number:02x}", port or f"1-{number + 1}")
    return Adapter(f"wlan{number}", identity, usb_vendor_id="0bda", rfkill=rfkill)


def hub(*adapters: Adapter, rules: AllocationRules | None = None) -> Allocator:
    allocator = Allocator(rules or AllocationRules())
    for one in adapters:
        allocator = allocator.add(one)
    return allocator


def kept(device: DeviceId, pin: AdapterPin) -> Reservations:
    return Reservations((Reservation(device, pin),))


def refusal(allocator: Allocator, claim: Claim) -> NoInterfaceAvailable:
    with pytest.raises(NoInterfaceAvailable) as refused:
        allocator.assign(claim)
    assert refused.value.code is ErrorCode.NO_INTERFACE_AVAILABLE
    return refused.value


def test_the_first_free_interface_as_people_count() -> None:
    allocator, name = hub(adapter(10), adapter(2)).assign(Claim(ONE))
    assert name == "wlan2"
    allocator, name = allocator.assign(Claim(TWO))
    assert name == "wlan10"


def test_the_third_of_three_cameras_on_two_adapters_is_refused_and_the_others_keep_theirs() -> None:
    allocator = hub(adapter(0), adapter(1))
    allocator, first = allocator.assign(Claim(ONE))
    allocator, second = allocator.assign(Claim(TWO))
    error = refusal(allocator, Claim(THREE))
    assert error.message == (
        "no Wi-Fi interface is available: wlan0 (in use by camera 1), wlan1 (in use by camera 2)"
    )
    assert allocator.assignments == {ONE: first, TWO: second}
    allocator, third = allocator.release(ONE).assign(Claim(THREE))
    assert third == first


def test_without_any_adapter_the_refusal_says_so() -> None:
    assert refusal(hub(), Claim(ONE)).message == (
        "no Wi-Fi interface is available: no USB Wi-Fi adapter is plugged in"
    )


def test_a_refusal_says_why_for_each_interface() -> None:
    rules = AllocationRules(exclude=("wlan0",), reservations=kept(THREE, AdapterPin("02:00:00:00:00:02")))
    allocator = hub(*(adapter(number) for number in range(5)), adapter(5, rfkill="hard-blocked"), rules=rules)
    allocator = allocator.adopt(TWO, "wlan1")
    allocator = allocator.update_facts("wlan3", BackendFacts("carrying a connection that is not ours"))
    allocator = allocator.update_facts("wlan4", BackendFacts(bands=frozenset({Band.GHZ_2_4})))
    error = refusal(allocator, Claim(ONE, bands=frozenset({Band.GHZ_5})))
    assert error.reasons == {
        "wlan0": 'excluded by the configuration ("wlan0")',
        "wlan1": "in use by camera 2",
        "wlan2": "reserved for camera 3",
        "wlan3": "carrying a connection that is not ours",
        "wlan4": "cannot use the 5GHz band",
        "wlan5": "blocked by rfkill (hard-blocked)",
    }
    assert "wlan4 (cannot use the 5GHz band)" in error.message


@pytest.mark.parametrize("name", ['wlan"0', "wlan}0", "wlan 0", "wlan*", "wlän0", "wlan0\n"])
def test_an_interface_whose_name_is_not_plain_is_not_used(name: str) -> None:
    """The helper would refuse it, and with it the addresses of all cameras."""
    odd = replace(adapter(0), name=name)
    error = refusal(hub(odd), Claim(ONE))
    assert error.reasons == {name: "its name has signs other than letters, digits, and `_.-`: rename it"}


def test_one_band_in_common_is_enough() -> None:
    allocator = hub(adapter(0)).update_facts("wlan0", BackendFacts(bands=frozenset({Band.GHZ_2_4})))
    _, name = allocator.assign(Claim(ONE, bands=frozenset({Band.GHZ_2_4, Band.GHZ_5})))
    assert name == "wlan0"
    error = refusal(allocator, Claim(ONE, bands=frozenset({Band.GHZ_5, Band.GHZ_6})))
    assert error.reasons == {"wlan0": "cannot use the 5GHz or 6GHz band"}


def test_a_band_is_served_by_an_interface_that_has_it_or_does_not_say() -> None:
    allocator = hub(adapter(0)).update_facts("wlan0", BackendFacts(bands=frozenset({Band.GHZ_2_4})))
    assert allocator.serves(Band.GHZ_2_4)
    assert not allocator.serves(Band.GHZ_5)
    assert (
        hub(adapter(0), adapter(1))
        .update_facts("wlan0", BackendFacts(bands=frozenset({Band.GHZ_2_4})))
        .serves(Band.GHZ_5)
    )


def test_a_long_refusal_is_cut_and_its_reasons_are_not() -> None:
    allocator = hub(*(adapter(number, rfkill="soft-blocked") for number in range(20)))
    error = refusal(allocator, Claim(ONE))
    assert error.message.endswith("and 12 more")
    assert len(error.reasons) == 20


def test_a_device_gets_its_last_adapter_back_under_another_name_in_another_port() -> None:
    moved = Adapter("wlx9", AdapterIdentity("02:00:00:00:00:07", "2-1"), usb_vendor_id="0bda")
    last = AdapterIdentity("02:00:00:00:00:07", "1-1")
    _, name = hub(adapter(0), adapter(1), moved).assign(Claim(ONE, last_adapter=last))
    assert name == "wlx9"


def test_a_taken_last_adapter_is_no_reason_to_wait() -> None:
    allocator = hub(adapter(0), adapter(1)).adopt(TWO, "wlan1")
    _, name = allocator.assign(Claim(ONE, last_adapter=adapter(1).identity))
    assert name == "wlan0"


def test_a_reservation_keeps_others_off_and_comes_before_the_last_adapter() -> None:
    rules = AllocationRules(reservations=kept(ONE, AdapterPin(usb_port="1-1")))
    allocator = hub(adapter(0), adapter(1), rules=rules)
    _, name = allocator.assign(Claim(TWO))
    assert name == "wlan1"
    _, name = allocator.assign(Claim(ONE, last_adapter=adapter(1).identity))
    assert name == "wlan0"


def test_a_device_with_a_reservation_takes_another_adapter_where_its_own_is_away() -> None:
    rules = AllocationRules(reservations=kept(ONE, AdapterPin("02:00:00:00:00:63")))
    _, name = hub(adapter(0), rules=rules).assign(Claim(ONE))
    assert name == "wlan0"


def test_only_usb_adapters_are_listed_unless_configured() -> None:
    card = Adapter("wlan0", AdapterIdentity("02:00:00:00:00:01"))
    assert not hub(card).interfaces
    assert hub(card, rules=AllocationRules(usb_only=False)).interfaces


def test_pulling_an_adapter_frees_its_device_and_no_other() -> None:
    allocator = hub(adapter(0), adapter(1)).adopt(ONE, "wlan0").adopt(TWO, "wlan1").remove("wlan0")
    assert allocator.assignments == {TWO: "wlan1"}
    with pytest.raises(InterfaceNotFound):
        allocator.status("wlan0")


def test_an_adapter_described_anew_keeps_its_device_and_what_the_backend_said() -> None:
    facts = BackendFacts(bands=frozenset({Band.GHZ_5}))
    allocator = hub(adapter(0)).update_facts("wlan0", facts).adopt(ONE, "wlan0")
    allocator = allocator.add(adapter(0, rfkill="soft-blocked"))
    assert allocator.assignments == {ONE: "wlan0"}
    assert allocator.interfaces["wlan0"].facts == facts


def test_a_link_that_stands_is_adopted_whatever_the_rules_say() -> None:
    allocator = hub(adapter(0, rfkill="soft-blocked"), rules=AllocationRules(exclude=("*",)))
    assert allocator.adopt(ONE, "wlan0").adopt(ONE, "wlan0").assignments == {ONE: "wlan0"}
    with pytest.raises(InterfaceNotFound):
        allocator.adopt(ONE, "wlan1")


def test_interfaces_of_no_known_usb_port_share_no_usb_device() -> None:
    nowhere = [
        replace(adapter(number), identity=AdapterIdentity(f"02:00:00:00:00:0{number}", ""))
        for number in (1, 2)
    ]
    allocator = hub(*nowhere)
    assert allocator.of_usb_device("wlan1") == {"wlan1"}
