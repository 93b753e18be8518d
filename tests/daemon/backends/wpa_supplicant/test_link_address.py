"""The address in networkd's description of a link."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.backends.wpa_supplicant._inventory import WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._link_address import (
    LinkAddress,
    LinkReading,
    NextRead,
    Withdrawn,
    address_in,
)
from wifimgrd.domain.device import Sighting
from wifimgrd.proxies.networkd.definitions import LinkDescription
from wifimgrd.proxies.networkd.manager import description_in

LEASED = {
    "Family": 2,
    "Address": [192, 168, 42, 36],
    "PrefixLength": 24,
    "ConfigSource": "DHCPv4",
    "ConfigState": "configured",
    "ConfigProvider": [192, 168, 42, 1],
}
"""As systemd 252 describes it, without what is not read."""
STATIC = {
    "Family": 2,
    "Address": [192, 168, 54, 2],
    "PrefixLength": 24,
    "ConfigSource": "static",
    "ConfigState": "configured",
}
SIXTH = {"Family": 10, "Address": [0] * 16, "PrefixLength": 64, "ConfigSource": "NDisc"}
FOREIGN = STATIC | {"ConfigSource": "foreign"}
ENDING = LEASED | {"ConfigState": "configured,removing"}
WITHOUT_CARRIER = STATIC | {"ConfigState": "requesting"}
"""The address that is to be set once the link has a carrier."""


def described(*addresses: dict[str, Any]) -> LinkDescription:
    return description_in(json.dumps({"Index": 5, "Addresses": list(addresses)}))


def test_a_lease_names_its_server() -> None:
    address = address_in(described(SIXTH, LEASED))
    assert isinstance(address, LinkAddress)
    assert (str(address.lease), address.server) == ("192.168.42.36/24", "192.168.42.1")


def test_a_static_address_has_no_server() -> None:
    address = address_in(described(STATIC))
    assert isinstance(address, LinkAddress)
    assert (str(address.lease), address.server) == ("192.168.54.2/24", "")
    assert not LinkReading.of(address, None, 0).is_leased


@pytest.mark.parametrize(
    "description",
    [
        described(),
        described(SIXTH),
        described(FOREIGN),
        described(ENDING),
        described(WITHOUT_CARRIER),
        description_in('{"Index": 5}'),
    ],
)
def test_a_link_without_an_address_of_ours_has_none(description: LinkDescription) -> None:
    assert address_in(description) is None


@pytest.mark.parametrize("change", [{}, {"ConfigSource": "foreign"}, {"ConfigState": "requesting,removing"}])
def test_an_address_that_is_deleted_before_it_was_set_is_withdrawn(change: dict[str, Any]) -> None:
    """The kernel reports no end of it; networkd gives it up when it reads another file."""
    withdrawn = LEASED | {"ConfigState": "removing"} | change
    assert isinstance(address_in(described(SIXTH, withdrawn)), Withdrawn)


def test_an_address_that_does_not_come_is_requested_more_and_more_rarely() -> None:
    requested: list[float] = []

    async def test() -> None:
        loop = asyncio.get_running_loop()
        next_read = NextRead(
            WifiInterface(1 << 20, "wlan0"),
            lambda: next_read.start(Withdrawn()),
            lambda: requested.append(round(loop.time(), 2)),
        )
        next_read.start(Withdrawn())
        await asyncio.sleep(60)
        next_read.stop()
        next_read.start(Withdrawn())  # of the next association
        await asyncio.sleep(1)
        next_read.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())
    assert requested == [0.35, 2.55, 8.55, 60.35]


def test_an_address_that_is_there_at_last_is_not_requested() -> None:
    requested: list[None] = []
    read = iter([Withdrawn(), Withdrawn(), None])

    async def test() -> None:
        next_read = NextRead(
            WifiInterface(1 << 20, "wlan0"),
            lambda: next_read.start(seen) if (seen := next(read)) else next_read.stop(),
            lambda: requested.append(None),
        )
        next_read.start(Withdrawn())
        await asyncio.sleep(60)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())
    assert not requested


@given(st.one_of(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps)))
def test_what_is_no_description_has_none(text: str) -> None:
    assert address_in(description_in(text)) is None


@pytest.mark.parametrize("change", [{"Address": [1, 2]}, {"PrefixLength": "x"}, {"Address": [999, 0, 0, 1]}])
def test_a_description_that_is_not_valid_has_none(change: dict[str, Any]) -> None:
    assert address_in(described(LEASED | change)) is None


def test_the_camera_is_the_server_of_the_lease() -> None:
    address = address_in(described(LEASED))
    assert isinstance(address, LinkAddress)
    reading = LinkReading.of(address, Sighting("02:ca:00:00:00:01", 2412), 88)
    assert (reading.link.local_address, reading.link.camera_address) == ("192.168.42.36", "192.168.42.1")
    assert reading.seen(Sighting("02:ca:00:00:00:02", 2437), 70).link.signal_percent == 70
