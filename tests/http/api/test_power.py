"""Wake, sleep, pairing and searches over Bluetooth, by HTTP."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.http.conftest import START_S
from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import NotPaired
from wifimgrd.domain.records import DeviceRecord

SLEEPING: Final = {
    "codename": "gopro-hero12",
    "connection_type": "wifi",
    "connection_settings": {"ssid": "GP25140001", "password": "gopro-pass-1"},
}


async def register_asleep(shim: Served, hub: HubClient) -> int:
    """A device whose camera sleeps, and which is not paired."""
    device_id: int = (await shim.post(P, json=SLEEPING)).json["id"]
    await hub.wait_until(lambda hub: hub.devices[device_id].connection_error_code is not None, START_S)
    return device_id


async def test_a_camera_is_paired_put_to_sleep_woken_and_connected(shim: Served, hub: HubClient) -> None:
    device_id = await register_asleep(shim, hub)
    one = f"{P}/{device_id}"
    answer = await shim.post(f"{one}/wake")
    assert (answer.status, answer.problem["code"]) == (409, "not-paired")

    answer = await shim.post(f"{one}/pairing?wait=20")
    assert (answer.status, answer.json["paired"]) == (200, True)
    assert answer.headers["Content-Location"] == f"{P}/{device_id}/"
    answer = await shim.post(f"{one}/sleep/?wait=20")
    assert (answer.status, answer.json["power_state"]) == (200, "asleep")
    answer = await shim.post(f"{one}/wake")
    assert (answer.status, answer.json["connection_phase"]) == (202, "waking")
    answer = await shim.post(f"{one}/wake?wait=20")
    assert (answer.status, answer.json["power_state"]) == (200, "awake")

    await shim.post(f"{one}/sleep?wait=20")
    answer = await shim.post(f"{P}/wifi/connect?device_id={device_id}&wake=1&wait=20")
    assert (answer.status, answer.json["status"]) == (200, "connected")
    assert (await shim.ask("DELETE", f"{one}/pairing")).status == 204
    assert (await shim.get(one)).json["paired"] is False


async def test_a_camera_is_registered_by_its_bluetooth_address(shim: Served) -> None:
    found = (await shim.post(f"{P}/bluetooth/search?seconds=1")).json["bluetooth_devices"]
    [gopro] = [one for one in found if one["name"] == "GoPro 0001"]
    assert (gopro["power_state"], gopro["pairing_mode"], gopro["device_id"]) == ("asleep", True, None)
    settings = {"bluetooth_address": gopro["address"]}
    answer = await shim.post(P, json={"connection_type": "wifi", "connection_settings": settings})
    assert (answer.status, answer.json["codename"]) == (201, "gopro-hero12")
    assert answer.json["connection_settings"] == {"ssid": "GP25140001"}
    known = (await shim.get(f"{P}/bluetooth/devices")).json["bluetooth_devices"]
    assert [one["device_id"] for one in known if one["name"] == "GoPro 0001"] == [answer.json["id"]]


async def test_a_model_that_cannot_be_woken_says_so(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DeviceRecord(1))
    fake_hub.answer = NotPaired("it is a stranger")
    answer = await served.post(f"{P}/1/wake")
    assert (answer.status, answer.problem["detail"]) == (409, "it is a stranger")


@pytest.mark.parametrize("path", ["wake", "sleep", "pairing"])
async def test_commands_are_no_questions(served: Served, fake_hub: FakeHub, path: str) -> None:
    fake_hub.appear(DeviceRecord(1))
    assert (await served.get(f"{P}/1/{path}")).status == 405
    assert fake_hub.asked == []


@pytest.mark.parametrize("body", [[], {"address": 7}, "x"])
async def test_a_pairing_takes_an_address_or_nothing(served: Served, fake_hub: FakeHub, body: Any) -> None:
    fake_hub.appear(DeviceRecord(1))
    answer = await served.post(f"{P}/1/pairing", json=body)
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")
    assert (await served.post(f"{P}/1/pairing")).status == 202
    assert (await served.post(f"{P}/1/pairing", json={"address": "F4:DD:12:34:56:78"})).status == 202


@pytest.mark.parametrize("seconds", ["0", "21", "x", "", "1&seconds=2", "1.5"])
async def test_a_search_takes_a_number_of_seconds(served: Served, fake_hub: FakeHub, seconds: str) -> None:
    assert fake_hub.available
    answer = await served.post(f"{P}/bluetooth/search?seconds={seconds}")
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")
