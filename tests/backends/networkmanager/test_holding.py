from typing import Any, cast

import pytest

from wifimgrd.backends.networkmanager.devices import NmDevice
from wifimgrd.backends.networkmanager.holding import Holder
from wifimgrd.backends.networkmanager.regulatory import regulatory_domain
from wifimgrd.dbus.bus import BusConnection, BusError, unpack

MAC = "02:00:5e:00:01:01"


class Memory(dict[str, str]):
    def recall(self, key: str) -> str | None:
        return self.get(key)

    def note(self, key: str, value: str | None) -> None:
        if value is None:
            self.pop(key, None)
        else:
            self[key] = value


class Bus:
    """Stands in for a BusConnection; keeps what was set."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.set: list[bool] = []
        self.refuses = refuses

    async def call(self, *arguments: Any, **_: Any) -> list[Any]:
        if self.refuses:
            raise BusError("org.freedesktop.DBus.Error.AccessDenied", "no")
        self.set.append(unpack(arguments[5][2]))
        return []


def bus(*, refuses: bool = False) -> tuple[Bus, BusConnection]:
    made = Bus(refuses=refuses)
    return made, cast(BusConnection, made)


def device(autoconnect: bool = True, mac: str = MAC) -> NmDevice:
    properties = {"Interface": "wlan0", "State": 30, "Autoconnect": autoconnect}
    return NmDevice("/device", properties, {"PermHwAddress": mac.upper()})


async def test_held_once_and_given_back_once() -> None:
    (said, connection), memory, wlan0 = bus(), Memory(), device()
    holder = Holder(memory)
    await holder.apply(connection, wlan0)
    assert said.set == []
    holder.take("wlan0")
    await holder.apply(connection, wlan0)
    await holder.apply(connection, wlan0)
    assert said.set == [False]
    assert list(memory) == [f"networkmanager.autoconnect.{MAC}"]
    holder.drop("wlan0")
    await holder.give_back(connection, wlan0)
    await holder.give_back(connection, wlan0)
    assert said.set == [False, True]
    assert memory == {}


async def test_what_was_off_before_stays_off() -> None:
    (said, connection), memory = bus(), Memory()
    holder = Holder(memory)
    holder.take("wlan0")
    await holder.apply(connection, device(autoconnect=False))
    await holder.give_back(connection, device(autoconnect=False))
    assert (said.set, memory) == ([], {})


async def test_a_crash_between_is_made_good_by_the_next_life() -> None:
    memory = Memory()
    first = Holder(memory)
    first.take("wlan0")
    await first.apply(bus()[1], device())
    said, connection = bus()
    second = Holder(memory)
    second.take("wlan0")
    await second.apply(connection, device(autoconnect=False))
    await second.give_back(connection, device(autoconnect=False))
    assert said.set == [True]


async def test_networkmanager_that_turns_it_on_again_is_told_again() -> None:
    (said, connection), memory, wlan0 = bus(), Memory(), device()
    holder = Holder(memory)
    holder.take("wlan0")
    await holder.apply(connection, wlan0)
    wlan0.properties["Autoconnect"] = True
    await holder.apply(connection, wlan0)
    assert said.set == [False, False]


@pytest.mark.parametrize(("refuses", "mac"), [(True, MAC), (False, "")])
async def test_nothing_is_raised_where_it_cannot_be_done(refuses: bool, mac: str) -> None:
    said, connection = bus(refuses=refuses)
    holder = Holder(Memory())
    holder.take("wlan0")
    await holder.apply(connection, device(mac=mac))
    await holder.give_back(connection, device(mac=mac))
    assert said.set == []


def test_the_kernel_says_its_domain_or_has_none() -> None:
    domain = regulatory_domain()
    assert domain is None or len(domain) == 2
