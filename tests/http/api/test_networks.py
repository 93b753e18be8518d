"""Networks in range over HTTP, on the real daemon."""

from __future__ import annotations

import asyncio

import pytest

from tests.http.served import P, Served
from wifimgrd.bus.connection import Variant
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import InvalidRequest

NETWORKS = P + "/wifi/networks"


async def test_the_cameras_in_range_are_listed(shim: Served) -> None:
    answer = await shim.get(NETWORKS)
    assert answer.status == 200
    assert answer.json["scanned_interfaces"] == ["wlan0", "wlan1", "wlan2"]
    assert answer.json["skipped_interfaces"] == {}
    by_name = {network["ssid"]: network for network in answer.json["networks"]}
    assert set(by_name) == {"SIM-CAM-1", "SIM-CAM-2", "SIM-CAM-3", "SIM-CAM-4"}
    four = by_name["SIM-CAM-4"]
    seen, bssids = four.pop("last_seen"), four.pop("bssids")
    assert seen.endswith("Z")
    assert [len(bssid) for bssid in bssids] == [17]
    assert four == {
        "ssid": "SIM-CAM-4",
        "ssid_hex": b"SIM-CAM-4".hex(),
        "frequencies_mhz": [5180],
        "security": "wpa3",
        "band": "5GHz",
        "bands": ["5GHz"],
        "signal_strength": 70,
        "interfaces": ["wlan0", "wlan1", "wlan2"],
        "device_id": None,
        "codename": None,
    }


async def test_a_registered_camera_is_recognised_and_its_link_left_alone(shim: Served) -> None:
    body = {
        "codename": "x",
        "connection_type": "wifi",
        "connection_settings": {"ssid": "SIM-CAM-1", "password": "camera-pass-1"},
    }
    made = (await shim.post(P, json=body)).json["id"]
    assert (await shim.get(f"{P}/wifi/connect?device_id={made}&wait=10")).json["status"] == "connected"
    answer = (await shim.get(NETWORKS + "/")).json
    assert answer["skipped_interfaces"] == {"wlan0": 'in use by "SIM-CAM-1"'}
    owners = {network["ssid"]: network["device_id"] for network in answer["networks"]}
    assert owners["SIM-CAM-1"] == made
    assert (await shim.get(f"{P}/{made}")).json["connected"] is True


async def test_a_name_that_is_no_text_is_reported_in_hexadecimal(shim: Served, hub: HubClient) -> None:
    await hub.simulate("AddCamera", "aysa{sv}", b"\xff<b>", "", {"signal": Variant("i", 99)})
    first = (await shim.get(NETWORKS)).json["networks"][0]
    assert (first["ssid"], first["ssid_hex"], first["security"]) == ("�<b>", "ff3c623e", "open")


async def test_one_interface_can_be_asked(shim: Served) -> None:
    answer = (await shim.get(NETWORKS + "?interface=wlan1")).json
    assert answer["scanned_interfaces"] == ["wlan1"]
    assert {tuple(network["interfaces"]) for network in answer["networks"]} == {("wlan1",)}


async def test_an_interface_that_is_not_there(shim: Served) -> None:
    answer = await shim.get(NETWORKS + "?interface=wlan9")
    assert (answer.status, answer.problem["code"]) == (404, "interface-not-found")


@pytest.mark.parametrize("query", ["?interface=", "?interface=wlan0&interface=wlan1", "?interface=%00"])
async def test_an_interface_that_is_no_name(shim: Served, query: str) -> None:
    answer = await shim.get(NETWORKS + query)
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")


async def test_many_who_ask_at_once_are_all_answered(shim: Served) -> None:
    answers = await asyncio.gather(*(shim.get(NETWORKS) for _ in range(30)))
    assert {len(answer.json["networks"]) for answer in answers} == {4}


async def test_without_the_backend_nobody_searches(shim: Served, hub: HubClient) -> None:
    await hub.simulate("SetFault", "sa{sv}", "backend-gone", {})
    answer = await shim.get(NETWORKS)
    assert (answer.status, answer.problem["code"]) == (503, "backend-unavailable")
    assert "Retry-After" in answer.headers


async def test_an_ill_typed_option_is_refused_on_the_bus(shim: Served, hub: HubClient) -> None:
    assert (await shim.get("/healthz")).status == 200
    with pytest.raises(InvalidRequest):
        await hub.search_networks(7)  # type: ignore[arg-type]
