"""Metrics, on the real daemon where it can do what is counted."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.http.fake_hub import FakeHub, changed
from tests.http.served import P, Served
from wifimgrd.bus.connection import Variant
from wifimgrd.client.changes import AttemptFailed, DeviceAdded, ServiceChanged
from wifimgrd.client.hub import HubClient
from wifimgrd.config.configuration import TileSource
from wifimgrd.domain.records import CameraRecord, DeviceRecord, ServiceRecord
from wifimgrd.domain.recovery import RECOVERY_STEPS
from wifimgrd.http.settings import Settings


async def values(shim: Served) -> dict[str, float]:
    """Every sample, by name and labels as they are written."""
    answer = await shim.get("/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    return {
        sample.name + "".join(f"[{value}]" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.data.decode())
        for sample in family.samples
    }


def camera(number: int, password: str | None = None) -> dict[str, object]:
    password = password or f"camera-pass-{number}"
    settings = {"ssid": f"SIM-CAM-{number}", "password": password}
    return {"codename": "x", "connection_type": "wifi", "connection_settings": settings}


async def connect(shim: Served, body: dict[str, object]) -> int:
    made: int = (await shim.post(P, json=body)).json["id"]
    await shim.get(f"{P}/wifi/connect?device_id={made}&wait=10")
    return made


async def test_attempts_by_outcome_and_what_they_took(shim: Served) -> None:
    before = await values(shim)
    assert before["wifimgrd_connection_attempts_total[success]"] == 0
    await connect(shim, camera(1))
    await connect(shim, camera(2, "not-its-password"))
    after = await values(shim)
    assert after["wifimgrd_connection_attempts_total[success]"] == 1
    assert after["wifimgrd_connection_attempts_total[authentication-failed]"] >= 1
    assert after["wifimgrd_connect_seconds_count"] == 1
    assert 0.1 < after["wifimgrd_connect_seconds_sum"] < 5


async def test_devices_and_interfaces_by_state(shim: Served, hub: HubClient) -> None:
    await connect(shim, camera(1))
    await hub.simulate("SetFault", "sa{sv}", "rfkill", {"interface": Variant("s", "wlan2")})
    await hub.wait_until(lambda client: client.interfaces["wlan2"].state == "unavailable", 5)
    now = await values(shim)
    assert {key: now[key] for key in now if key.startswith(("wifimgrd_devices", "wifimgrd_interfaces"))} == {
        "wifimgrd_devices[disconnected]": 0,
        "wifimgrd_devices[connecting]": 0,
        "wifimgrd_devices[connected]": 1,
        "wifimgrd_devices[disconnecting]": 0,
        "wifimgrd_devices[unknown]": 0,
        "wifimgrd_devices_reachable": 1,
        "wifimgrd_devices_asleep": 0,
        "wifimgrd_devices_needing_bluetooth": 0,
        "wifimgrd_interfaces[available]": 1,
        "wifimgrd_interfaces[in-use]": 1,
        "wifimgrd_interfaces[unavailable]": 1,
        "wifimgrd_interfaces[reserved]": 0,
        "wifimgrd_interfaces[unknown]": 0,
    }
    assert (now["wifimgrd_daemon_up"], now["wifimgrd_backend_ready"]) == (1, 1)
    assert any(key.startswith("wifimgrd_build_info[simulated][") for key in now)
    assert now["process_resident_memory_bytes"] > 0


async def test_the_health_of_each_adapter_that_has_received_anything(shim: Served, hub: HubClient) -> None:
    await connect(shim, camera(1))
    await hub.wait_until(lambda client: client.interfaces["wlan0"].health is not None, 10)
    now = await values(shim)
    assert {key: now[key] for key in now if key.startswith("wifimgrd_interface_health")} == {
        "wifimgrd_interface_health[good][wlan0]": 1
    }


async def test_a_reserved_interface_is_not_among_the_available_ones(shim: Served, hub: HubClient) -> None:
    await connect(shim, camera(1))
    await hub.update_device(1, {"pin": {"usb_port": "1-1.3"}, "name": "Nose"})
    await hub.wait_until(lambda client: client.interfaces["wlan2"].reserved_device_id == 1, 5)
    now = await values(shim)
    assert (now["wifimgrd_interfaces[available]"], now["wifimgrd_interfaces[reserved]"]) == (1, 1)
    assert {key for key in now if key.startswith("wifimgrd_interface_reserved")} == {
        "wifimgrd_interface_reserved[Nose][wlan2]"
    }


async def test_without_the_service_behind_the_backend_all_states_are_unknown(
    shim: Served, hub: HubClient
) -> None:
    await connect(shim, camera(1))
    await hub.simulate("SetFault", "sa{sv}", "backend-gone", {})
    await hub.wait_until(lambda client: client.service.backend_state == "unavailable", 5)
    now = await values(shim)
    counted = {key: now[key] for key in now if key.startswith(("wifimgrd_devices[", "wifimgrd_interfaces["))}
    assert {key: number for key, number in counted.items() if number} == {
        "wifimgrd_devices[unknown]": 1,
        "wifimgrd_interfaces[unknown]": 3,
    }


async def test_what_was_tried_with_an_adapter_is_counted_by_step(shim: Served, hub: HubClient) -> None:
    before = await values(shim)
    assert not any(before[f"wifimgrd_adapter_recoveries_total[{step}]"] for step in RECOVERY_STEPS)
    stuck = {"interface": Variant("s", "wlan0"), "heals": Variant("s", "rescan")}
    await hub.simulate("SetFault", "sa{sv}", "adapter-stuck", stuck)
    made = await connect(shim, camera(1))
    while hub.devices[made].state != "connected":  # by another adapter, once it has found the camera
        await shim.get(f"{P}/wifi/connect?device_id={made}&wait=10")
    await hub.wait_until(lambda client: client.service.recoveries["rescan"] == 1, 5)
    assert (await values(shim))["wifimgrd_adapter_recoveries_total[rescan]"] == 1


async def test_a_camera_that_blinks_is_an_interruption_and_a_reconnect(shim: Served, hub: HubClient) -> None:
    made = await connect(shim, camera(1))
    await hub.simulate("PowerOffCamera", "ayb", b"SIM-CAM-1", True)
    await hub.wait_until(lambda client: client.devices[made].state == "connecting", 5)
    await hub.simulate("PowerOnCamera", "ay", b"SIM-CAM-1")
    await hub.wait_until(lambda client: client.devices[made].state == "connected", 5)
    now = await values(shim)
    assert now["wifimgrd_link_interruptions_total"] == now["wifimgrd_reconnects_total"] == 1
    assert now["wifimgrd_connection_attempts_total[success]"] == now["wifimgrd_connect_seconds_count"] == 1


async def test_a_link_that_a_recovery_step_takes_down_was_not_interrupted(
    fake_hub: FakeHub, served: Served
) -> None:
    up = DeviceRecord(1, state="connected")
    away = replace(up, state="connecting", recovery_step="rejoin")
    fake_hub.happen(DeviceAdded(up), changed(away, "State"))
    fake_hub.happen(changed(replace(up, recovery_step="rejoin"), "State"), changed(up))
    now = await values(served)
    assert now["wifimgrd_link_interruptions_total"] == now["wifimgrd_reconnects_total"] == 0
    assert now["wifimgrd_connect_seconds_count"] == 0


async def test_a_lost_camera_that_is_brought_back_is_a_reconnect(shim: Served, hub: HubClient) -> None:
    made = await connect(shim, camera(1))
    interface = hub.devices[made].interface
    await hub.simulate("UnplugAdapter", "s", interface)
    await hub.wait_until(lambda client: client.devices[made].state == "disconnected", 5)
    assert (await values(shim))["wifimgrd_reconnects_total"] == 0
    await hub.wait_until(lambda client: client.devices[made].state == "connected", 15)
    now = await values(shim)
    assert now["wifimgrd_reconnects_total"] == now["wifimgrd_outage_seconds_count"] == 1
    assert 1 <= now["wifimgrd_outage_seconds_sum"] < 15
    assert now["wifimgrd_loss_reported_seconds_count"] == 1
    assert now["wifimgrd_loss_reported_seconds_sum"] < 2


async def test_how_long_it_took_to_report_a_loss_is_counted_once(fake_hub: FakeHub, served: Served) -> None:
    now_us = time.time_ns() // 1000
    up = DeviceRecord(1, state="connected")
    away = replace(up, state="connecting", connection_error_code="connection-lost", lost_at=now_us - 500_000)
    fake_hub.happen(DeviceAdded(up))
    fake_hub.happen(changed(away, "State"))
    fake_hub.happen(AttemptFailed(1, "connection-lost", "gone"))
    fake_hub.happen(changed(replace(away, state="disconnected"), "State"))
    now = await values(served)
    assert now["wifimgrd_loss_reported_seconds_count"] == 1
    assert 0.5 <= now["wifimgrd_loss_reported_seconds_sum"] < 10


async def test_a_pulled_adapter_is_a_lost_link_and_no_failed_attempt(shim: Served, hub: HubClient) -> None:
    made = await connect(shim, camera(1))
    interface = hub.devices[made].interface
    await hub.simulate("UnplugAdapter", "s", interface)
    await hub.wait_until(lambda client: client.devices[made].state == "disconnected", 5)
    now = await values(shim)
    assert now["wifimgrd_links_lost_total[interface-lost]"] == 1
    assert now["wifimgrd_connection_attempts_total[interface-lost]"] == 0


async def test_an_attempt_that_was_cancelled_and_one_that_was_refused(
    fake_hub: FakeHub, served: Served
) -> None:
    idle = DeviceRecord(1)
    fake_hub.happen(DeviceAdded(idle))
    fake_hub.happen(changed(replace(idle, state="connecting"), "State"))
    fake_hub.happen(changed(replace(idle, state="disconnecting"), "State"))
    fake_hub.happen(changed(idle, "State"))
    fake_hub.happen(AttemptFailed(1, "no-interface-available", "all are in use"), changed(idle, "State"))
    now = await values(served)
    assert now["wifimgrd_connection_attempts_total[cancelled]"] == 1
    assert now["wifimgrd_connection_attempts_total[no-interface-available]"] == 1


async def test_wakes_are_counted_by_outcome(fake_hub: FakeHub, served: Served) -> None:
    device = DeviceRecord(1, auto_wake=True, power_state="asleep")
    waking = replace(device, connection_phase="waking")
    awake = replace(waking, power_state="awake")
    fake_hub.happen(DeviceAdded(device), changed(waking), changed(awake))
    fake_hub.happen(changed(replace(awake, connection_phase=None)))
    fake_hub.happen(changed(waking), changed(device))
    attempt = replace(waking, state="connecting", power_state="awake")  # as it was seen before
    fake_hub.happen(changed(attempt, "State"), changed(replace(attempt, connection_phase="joining")))
    fake_hub.happen(changed(attempt, "State"), changed(device, "State"))
    counted = await values(served)
    assert counted["wifimgrd_wakes_total[success]"] == 2
    assert counted["wifimgrd_wakes_total[failed]"] == 2
    assert counted["wifimgrd_devices_asleep"] == 1
    assert counted["wifimgrd_devices_needing_bluetooth"] == 1
    assert counted["wifimgrd_bluetooth_ready"] == 0


async def test_a_link_that_never_came_back_is_lost_once(fake_hub: FakeHub, served: Served) -> None:
    up = DeviceRecord(1, state="connected")
    fake_hub.happen(DeviceAdded(up))
    fake_hub.happen(
        changed(replace(up, state="connecting", connection_error_code="connection-lost"), "State")
    )
    fake_hub.happen(AttemptFailed(1, "connection-lost", "gone"))
    fake_hub.happen(changed(replace(up, state="disconnected"), "State"))
    now = await values(served)
    assert now["wifimgrd_links_lost_total[connection-lost]"] == 1
    assert now["wifimgrd_link_interruptions_total"] == 1
    assert "wifimgrd_connection_attempts_total[connection-lost]" not in now


SAID = CameraRecord(
    battery_level=0,
    battery_state="charging",
    recording_state="idle",
    recording_requested=True,
    storage_free=0,
    recording_time_left=61_500_000,
)


async def of_devices(served: Served) -> dict[str, float]:
    now = await values(served)
    start = "wifimgrd_device_"
    return {key.removeprefix(start): number for key, number in now.items() if key.startswith(start)}


async def test_each_device_has_values_with_its_name(fake_hub: FakeHub, served: Served) -> None:
    connected = DeviceRecord(
        1, "Front", expected=True, state="connected", reachable=True, signal_strength=61, camera=SAID
    )
    silent = DeviceRecord(2, 'Re"ar', state="connected", signal_strength=5, camera=CameraRecord())
    off = DeviceRecord(3, "Top", reachable=False, signal_strength=70, camera=SAID)
    fake_hub.appear(connected, silent, off, DeviceRecord(4, "Webcam"))
    assert await of_devices(served) == {
        "expected[Front]": 1,
        'expected[Re"ar]': 0,
        "expected[Top]": 0,
        "expected[Webcam]": 0,
        "connected[Front]": 1,
        'connected[Re"ar]': 1,
        "connected[Top]": 0,
        "connected[Webcam]": 0,
        "signal_percent[Front]": 61,
        'signal_percent[Re"ar]': 5,
        "reachable[Front]": 1,
        'reachable[Re"ar]': 0,
        "recording_requested[Front]": 1,
        'recording_requested[Re"ar]': 0,
        "recording_requested[Top]": 1,
        "battery_percent[Front]": 0,
        "battery_charging[Front]": 1,
        "recording[Front]": 0,
        "storage_free_bytes[Front]": 0,
        "recording_left_seconds[Front]": 61.5,
    }


async def test_a_camera_that_is_to_record_is_known_without_its_backend(
    fake_hub: FakeHub, served: Served
) -> None:
    fake_hub.appear(DeviceRecord(1, "Front", state="connected", reachable=True, camera=SAID))
    fake_hub.happen(ServiceChanged(ServiceRecord(backend_state="unavailable"), frozenset()))
    assert await of_devices(served) == {"expected[Front]": 0, "recording_requested[Front]": 1}


async def test_two_devices_of_one_name_are_told_apart(fake_hub: FakeHub, served: Served) -> None:
    fake_hub.appear(DeviceRecord(1, "Front"), DeviceRecord(2, "Front"), DeviceRecord(3, "Rear"))
    named = {"connected[Front (1)]": 0, "connected[Front (2)]": 0, "connected[Rear]": 0}
    named |= {key.replace("connected", "expected"): number for key, number in named.items()}
    assert await of_devices(served) == named


async def test_a_daemon_that_is_away_is_said_and_its_devices_are_not_made_up(
    fake_hub: FakeHub, served: Served
) -> None:
    fake_hub.happen(DeviceAdded(DeviceRecord(1, state="connected")))
    fake_hub.vanish()
    now = await values(served)
    assert (now["wifimgrd_daemon_up"], now["wifimgrd_backend_ready"]) == (0, 0)
    assert not [key for key in now if key.startswith("wifimgrd_devices")]


async def test_clients_of_the_channel(served: Served) -> None:
    channel = await served.channel()
    await channel.receive()
    assert (await values(served))["wifimgrd_websocket_clients"] == 1
    assert (await values(served))["wifimgrd_websocket_drops_total"] == 0


async def test_openmetrics_for_who_accepts_it(served: Served) -> None:
    answer = await served.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert answer.data.endswith(b"# EOF\n")


class TestTiles:
    @pytest.fixture
    def settings(self, tmp_path: Path) -> Settings:
        tile = tmp_path / "map" / "0" / "0" / "0.png"
        tile.parent.mkdir(parents=True)
        tile.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
        return Settings(tile_sources=(TileSource("map", "folder", tile.parents[2]),))

    async def test_requests_for_tiles_by_source_and_outcome(self, served: Served) -> None:
        for path in ("0/0/0.png", "0/0/0.png", "1/0/0.png"):
            await served.get(f"/tiles/map/{path}")
        await served.get("/tiles/map/0/0/0.png", headers={"If-None-Match": '"none"'})
        now = await values(served)
        assert now["wifimgrd_tile_requests_total[found][folder][map]"] == 3
        assert now["wifimgrd_tile_requests_total[missing][][map]"] == 1
        assert now["wifimgrd_tile_requests_total[failed][folder][map]"] == 0


async def test_no_password_is_in_them(shim: Served) -> None:
    await connect(shim, camera(1))
    assert b"camera-pass" not in (await shim.get("/metrics")).data
