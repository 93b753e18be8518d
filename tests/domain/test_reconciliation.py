"""From any mix of memory, adapters and links to one that agrees; the invariants of the module."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.device import DeviceId, HeldLink, Link, Ssid
from wifimgrd.domain.lifecycle import Phase
from wifimgrd.domain.reconciliation import (
    Action,
    Adopt,
    DeviceView,
    Drop,
    Interrupt,
    Inventory,
    Lose,
    Restore,
    reconcile,
)

NAMES = ("wlan0", "wlan1", "wlan2", "wlan10")
FOUND = Link("192.168.42.17", "192.168.42.1")
NOTHING_RUNS = (Phase.IDLE, Phase.UP, Phase.INTERRUPTED)


@dataclass(frozen=True)
class Mix:
    """The three, as they may have drifted apart."""

    views: dict[DeviceId, DeviceView]
    inventory: Inventory
    links: dict[str, HeldLink]

    def actions(self) -> tuple[Action, ...]:
        return reconcile(self.views.values(), self.inventory, self.links.values())

    def after(self) -> Mix:
        """What the manager and the backend make of the actions."""
        views, links = dict(self.views), dict(self.links)
        for action in self.actions():
            match action:
                case Lose(device):
                    views[device] = replace(views[device], phase=Phase.IDLE, interface=None)
                case Adopt(link):
                    before = views[link.device_id]
                    assert before.phase is Phase.IDLE
                    views[link.device_id] = replace(before, phase=Phase.UP, interface=link.interface)
                case Interrupt(link):
                    assert views[link.device_id].phase is Phase.UP
                    views[link.device_id] = replace(views[link.device_id], phase=Phase.INTERRUPTED)
                case Restore(link):
                    assert views[link.device_id].phase is Phase.INTERRUPTED
                    views[link.device_id] = replace(views[link.device_id], phase=Phase.UP)
                case Drop(link):
                    assert links.pop(link.interface) == link
        return Mix(views, self.inventory, links)


def held(device: int, interface: str, *, up: bool = True) -> HeldLink:
    return HeldLink(DeviceId(device), interface, Ssid(b"CAM"), FOUND, up)


@st.composite
def mixes(draw: st.DrawFn) -> Mix:
    """Devices 1 to 4 may be in memory, 1 to 6 in the backend; no two devices have one interface."""
    free = draw(st.permutations(NAMES))
    views = {}
    for number in draw(st.sets(st.integers(1, 4))):
        phase = draw(st.sampled_from(Phase)) if free else Phase.IDLE
        is_away = phase is Phase.RECOVERING and draw(st.booleans())
        interface = None if phase is Phase.IDLE or is_away else free.pop()
        views[DeviceId(number)] = DeviceView(DeviceId(number), phase, interface, draw(st.booleans()))
    place = st.sampled_from(["listed", "foreign", "absent"])
    places = {name: draw(place) for name in NAMES}
    inventory = Inventory(
        frozenset(name for name in NAMES if places[name] == "listed"),
        frozenset(name for name in NAMES if places[name] == "foreign"),
    )
    links = {
        name: held(draw(st.integers(1, 6)), name, up=draw(st.booleans()))
        for name in draw(st.sets(st.sampled_from(NAMES)))
    }
    return Mix(views, inventory, links)


@given(mixes())
def test_a_second_run_has_nothing_to_do(mix: Mix) -> None:
    assert mix.after().actions() == ()


@given(mixes())
def test_a_device_is_connected_exactly_where_its_link_stands(mix: Mix) -> None:
    after = mix.after()
    for view in after.views.values():
        if view.interface is not None:
            assert view.interface in after.inventory.listed
        link = after.links.get(view.interface or "")
        own = link if link is not None and link.device_id == view.device_id else None
        if view.phase is Phase.UP:
            assert own is not None
            assert own.up
        if view.phase is Phase.INTERRUPTED:
            assert own is not None
            assert not own.up
    interfaces = [one.interface for one in after.views.values() if one.interface]
    assert len(interfaces) == len(set(interfaces))


@given(mixes())
def test_every_link_left_is_its_devices_or_waits_for_its_adapter(mix: Mix) -> None:
    after = mix.after()
    places = {one.interface: one for one in after.views.values() if one.interface}
    for name, link in after.links.items():
        holder = places.get(name)
        if holder is not None:
            assert holder.device_id == link.device_id or holder.phase not in NOTHING_RUNS
        else:
            waiting = after.views[link.device_id]
            assert not waiting.removing
            assert waiting.interface is None
            assert name not in after.inventory.listed | after.inventory.foreign


@given(mixes())
def test_no_good_link_is_dropped(mix: Mix) -> None:
    after = mix.after()
    for name, link in mix.links.items():
        view = mix.views.get(link.device_id)
        if view is None or name not in mix.inventory.listed:
            continue
        if view.interface == name and view.phase is not Phase.IDLE:
            assert after.links[name] == link, "it was where memory has it"
        elif view.phase is Phase.IDLE and not view.removing:
            others = [one for one in mix.views.values() if one.interface == name]
            if not others:
                assert link.device_id in {one.device_id for one in after.links.values()}, (
                    "one of its links is kept"
                )


@given(mixes())
def test_what_an_attempt_or_a_release_is_at_work_on_is_left_alone(mix: Mix) -> None:
    busy = {
        one.interface
        for one in mix.views.values()
        if one.phase not in (*NOTHING_RUNS, Phase.ARRIVING) and one.interface in mix.inventory.listed
    }
    after = mix.after()
    for view in mix.views.values():
        if view.interface in busy:
            assert after.views[view.device_id] == view
    assert not [one for one in mix.actions() if isinstance(one, Drop) and one.link.interface in busy]


@pytest.mark.parametrize("phase", [Phase.ARRIVING, Phase.UP, Phase.INTERRUPTED])
def test_a_link_that_the_backend_does_not_have_is_lost(phase: Phase) -> None:
    view = DeviceView(DeviceId(1), phase, "wlan0")
    inventory = Inventory(frozenset({"wlan0"}))
    assert reconcile([view], inventory, []) == (Lose(DeviceId(1)),)
    assert Lose(DeviceId(1)) not in reconcile([view], inventory, [held(1, "wlan0")])


@given(mixes())
def test_losses_come_first_and_what_takes_time_last(mix: Mix) -> None:
    kinds = [0 if isinstance(one, Lose) else 2 if isinstance(one, Drop) else 1 for one in mix.actions()]
    assert kinds == sorted(kinds)


@pytest.mark.parametrize(
    ("phase", "up", "action"),
    [
        (Phase.UP, True, None),
        (Phase.UP, False, Interrupt),
        (Phase.INTERRUPTED, True, Restore),
        (Phase.INTERRUPTED, False, None),
    ],
)
def test_a_device_follows_its_own_link(
    phase: Phase, up: bool, action: type[Interrupt | Restore] | None
) -> None:
    link = held(1, "wlan0", up=up)
    mix = Mix(
        {DeviceId(1): DeviceView(DeviceId(1), phase, "wlan0")},
        Inventory(frozenset(("wlan0",))),
        {"wlan0": link},
    )
    assert mix.actions() == (() if action is None else (action(link),))


def test_a_link_moves_with_its_adapters_new_name() -> None:
    moved = held(1, "wlan1")
    mix = Mix(
        {DeviceId(1): DeviceView(DeviceId(1), Phase.UP, "wlan0")},
        Inventory(frozenset(("wlan1",))),
        {"wlan1": moved},
    )
    assert mix.actions() == (Lose(DeviceId(1)), Adopt(moved))


def test_of_two_links_of_a_device_the_one_that_is_up_is_kept() -> None:
    down, up = held(1, "wlan0", up=False), held(1, "wlan1")
    mix = Mix(
        {DeviceId(1): DeviceView(DeviceId(1))},
        Inventory(frozenset(("wlan0", "wlan1"))),
        {"wlan0": down, "wlan1": up},
    )
    assert mix.actions() == (Adopt(up), Drop(down))


def test_a_link_waits_for_an_adapter_that_udev_has_not_reported_yet() -> None:
    mix = Mix({DeviceId(1): DeviceView(DeviceId(1))}, Inventory(), {"wlan0": held(1, "wlan0")})
    assert mix.actions() == ()
