"""Connect, disconnect and status over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import Answer, P, Served
from wifimgrd.bus.connection import Variant
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import BackendUnavailable, Busy, Cancelled, ErrorCode, InternalError, error_of
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http._errors import STATUSES


async def register(shim: Served, ssid: str = "SIM-CAM-1", password: str = "camera-pass-1") -> int:
    """Register a device and let its first attempt end."""
    settings = {"ssid": ssid, "password": password}
    body = {"codename": "x", "connection_type": "wifi", "connection_settings": settings}
    device_id: int = (await shim.post(P, json=body)).json["id"]
    return device_id


async def connect(shim: Served, device_id: object, query: str = "&wait=10") -> Answer:
    return await shim.get(f"{P}/wifi/connect?device_id={device_id}{query}")


async def status(shim: Served, device_id: int) -> Any:
    return (await shim.get(f"{P}/wifi/status?device_id={device_id}")).json


async def settled(hub: HubClient, device_id: int, state: str) -> None:
    await hub.wait_until(lambda client: client.devices[device_id].state == state, 20)


async def test_connect_with_wait_answers_when_the_link_is_up(shim: Served) -> None:
    device_id = await register(shim)
    answer = await connect(shim, device_id)
    assert answer.status == 200
    assert answer.json == {
        "message": "SIM-CAM-1 is connected",
        "status": "connected",
        "device_connection_id": device_id,
        "interface": "wlan0",
    }
    now = await status(shim, device_id)
    assert (now["connection_status"], now["connected"], now["interface"]) == ("connected", True, "wlan0")


async def test_connect_without_wait_answers_at_once(shim: Served, hub: HubClient) -> None:
    device_id = await register(shim)
    await settled(hub, device_id, "connected")
    await shim.get(f"{P}/wifi/disconnect/?device_id={device_id}")
    await hub.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 60.0)})
    answer = await connect(shim, device_id, "")
    assert (answer.json["status"], answer.json["interface"]) == ("connecting", "wlan0")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_connected_device_is_disconnected(shim: Served, method: str) -> None:
    device_id = await register(shim)
    await connect(shim, device_id)
    answer = await shim.ask(method, f"{P}/wifi/disconnect?device_id={device_id}")
    assert answer.json == {
        "message": "SIM-CAM-1 is disconnected",
        "status": "disconnected",
        "device_connection_id": device_id,
    }
    now = await status(shim, device_id)
    assert (now["connection_status"], now["connected"], now["interface"]) == ("disconnected", False, None)


async def on_every_adapter(shim: Served) -> list[int]:
    """Three cameras that are connected, on all adapters there are."""
    made = [await register(shim, f"SIM-CAM-{number}", f"camera-pass-{number}") for number in (1, 2, 3)]
    for device_id in made:
        assert (await connect(shim, device_id)).status == 200
    return made


async def test_when_free_makes_a_device_wait_for_an_adapter(shim: Served, hub: HubClient) -> None:
    holder, *_ = await on_every_adapter(shim)
    device_id = await register(shim, "SIM-CAM-4", "camera-pass-4")
    answer = await connect(shim, device_id, "&when_free=1")
    assert answer.status == 202
    assert answer.json == {
        "message": "SIM-CAM-4 waits for an adapter",
        "status": "waiting",
        "device_connection_id": device_id,
    }
    now = await status(shim, device_id)
    assert (now["connection_status"], now["waiting_since"] is not None) == ("disconnected", True)
    assert (await shim.get(f"{P}/{device_id}/")).json["waiting_since"] == now["waiting_since"]
    assert (await connect(shim, device_id, "")).problem["code"] == "no-interface-available"
    assert (await status(shim, device_id))["waiting_since"] == now["waiting_since"]
    await shim.post(f"{P}/wifi/disconnect?device_id={holder}")
    await settled(hub, device_id, "connected")
    assert (await status(shim, device_id))["waiting_since"] is None


async def test_wait_bounds_the_waiting_and_the_attempt(shim: Served) -> None:
    holder, *_ = await on_every_adapter(shim)
    device_id = await register(shim, "SIM-CAM-4", "camera-pass-4")
    assert (await connect(shim, device_id, "&when_free=1&wait=0.2")).status == 202
    pending = asyncio.create_task(connect(shim, device_id, "&when_free=1&wait=10"))
    await shim.post(f"{P}/wifi/disconnect?device_id={holder}")
    answer = await pending
    assert (answer.status, answer.json["status"]) == (200, "connected")


async def test_a_disconnect_ends_the_waiting_and_whoever_waits_for_it(shim: Served) -> None:
    await on_every_adapter(shim)
    device_id = await register(shim, "SIM-CAM-4", "camera-pass-4")
    await connect(shim, device_id, "&when_free=1")
    pending = asyncio.create_task(connect(shim, device_id, "&when_free=1&wait=10"))
    channel = await shim.channel()
    await channel.receive_json()
    assert (await connect(shim, device_id, "")).status == 409
    await shim.post(f"{P}/wifi/disconnect?device_id={device_id}")
    assert (await pending).problem["code"] == "cancelled"

    async def next_status() -> Any:
        while "connection_status" not in (data := (await channel.receive_json())["data"]):
            pass
        return data

    seen = await next_status()
    while (seen["connection_status"], seen["waiting_since"] is None) != ("failed", False):
        seen = await next_status()  # the first ones are of the refusal before the wait
    while seen["waiting_since"] is not None:
        seen = await next_status()
    assert seen["connection_status"] == "disconnected"
    assert (await status(shim, device_id))["waiting_since"] is None


@pytest.mark.parametrize("value", ["2", "yes", "", "1&when_free=1"])
async def test_when_free_is_1_or_0(shim: Served, value: str) -> None:
    answer = await connect(shim, 1, f"&when_free={value}")
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")


async def test_what_is_so_already_succeeds(shim: Served) -> None:
    device_id = await register(shim)
    await connect(shim, device_id)
    assert (await connect(shim, device_id, "")).json["status"] == "connected"
    for _ in range(2):
        answer = await shim.post(f"{P}/wifi/disconnect?device_id={device_id}")
        assert answer.json["status"] == "disconnected"


async def test_a_camera_that_is_off_is_not_reachable(shim: Served) -> None:
    device_id = await register(shim, "SIM-CAM-OFF", "camera-pass-off")
    answer = await connect(shim, device_id)
    assert (answer.status, answer.problem["code"]) == (504, "device-not-reachable")
    now = await status(shim, device_id)
    assert now["connection_status"] == "disconnected"
    assert now["connection_error_code"] == "device-not-reachable"
    assert now["connection_error_message"] == answer.problem["detail"]
    assert now["last_connection_attempt"]


async def test_a_wrong_password_is_said_so(shim: Served) -> None:
    device_id = await register(shim, password="wrong-password")
    answer = await connect(shim, device_id)
    assert (answer.status, answer.problem["code"]) == (502, "authentication-failed")


async def test_without_a_free_interface_the_others_stay_connected(shim: Served) -> None:
    connected = [await register(shim, f"SIM-CAM-{n}", f"camera-pass-{n}") for n in (1, 2, 3)]
    for device_id in connected:
        assert (await connect(shim, device_id)).status == 200
    refused = await register(shim, "SIM-CAM-4", "camera-pass-4")
    for query in ("", "&wait=5"):
        answer = await connect(shim, refused, query)
        assert (answer.status, answer.problem["code"]) == (409, "no-interface-available")
        assert "no Wi-Fi interface is available" in answer.problem["error"]
    interfaces = (await shim.get(f"{P}/wifi/interfaces")).json
    assert interfaces["interface_assignments"] == {
        str(device_id): f"wlan{number}" for number, device_id in enumerate(connected)
    }
    assert interfaces["available_interfaces"] == []
    await shim.get(f"{P}/wifi/disconnect?device_id={connected[1]}")
    assert (await connect(shim, refused)).json["interface"] == "wlan1"


async def test_a_wait_that_runs_out_answers_connecting_and_the_attempt_goes_on(
    shim: Served, hub: HubClient
) -> None:
    await hub.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 3.0)})
    device_id = await register(shim)
    answer = await connect(shim, device_id, "&wait=0.1")
    assert (answer.status, answer.json["status"]) == (200, "connecting")
    await settled(hub, device_id, "connected")


async def test_a_wait_is_passed_on_as_one_command(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DeviceRecord(1))
    await connect(served, 1, "&wait=2.5")
    await connect(served, 1, "&wait=0")
    assert fake_hub.asked == [("connect", 1, 2.5), ("connect", 1, 0)]


@pytest.mark.parametrize("wait", ["", "-1", "180.1", "181", "nan", "inf", "1e2", "1_0", "%201", "x", "１"])
async def test_a_wait_that_is_no_number_of_seconds_is_not_valid(
    served: Served, fake_hub: FakeHub, wait: str
) -> None:
    fake_hub.appear(DeviceRecord(1))
    assert (await connect(served, 1, f"&wait={wait}")).problem["code"] == "invalid-request"
    assert fake_hub.asked == []


@pytest.mark.parametrize("operation", ["connect", "disconnect", "status"])
@pytest.mark.parametrize(
    "query", ["", "?device_id=", "?device_id=abc", "?device_id=1.5", "?device_id=%2B1", "?id=1",
              "?device_id=１", "?device_id=1&device_id=2", "?device_id=%00", "?device_id=true"],
)  # fmt: skip
async def test_a_device_id_that_is_no_integer_is_not_valid(
    served: Served, operation: str, query: str
) -> None:
    answer = await served.get(f"{P}/wifi/{operation}{query}")
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")


@pytest.mark.parametrize("operation", ["connect", "disconnect", "status"])
@pytest.mark.parametrize("device_id", ["0", "-1", "42", "9" * 5000])
async def test_a_device_that_is_not_there_is_not_found(
    served: Served, operation: str, device_id: str
) -> None:
    answer = await served.get(f"{P}/wifi/{operation}/?device_id={device_id}")
    assert (answer.status, answer.problem["code"]) == (404, "device-not-found")


@pytest.mark.parametrize("code", list(ErrorCode))
async def test_every_error_of_the_daemon_has_its_status(
    served: Served, fake_hub: FakeHub, code: ErrorCode
) -> None:
    fake_hub.appear(DeviceRecord(1))
    fake_hub.answer = error_of(code, "it was so")
    answer = await connect(served, 1)
    assert (answer.status, answer.problem["code"]) == (STATUSES[code].status, code)
    assert answer.problem["title"] == STATUSES[code].title
    assert ("Retry-After" in answer.headers) == (answer.status in (429, 503))


@pytest.mark.parametrize(
    ("error", "status"), [(Busy("no"), 409), (Cancelled("no"), 409), (BackendUnavailable("no"), 503)]
)
async def test_a_disconnect_says_why_it_failed(
    served: Served, fake_hub: FakeHub, error: Exception, status: int
) -> None:
    fake_hub.appear(DeviceRecord(1))
    fake_hub.answer = error
    assert (await served.get(f"{P}/wifi/disconnect?device_id=1")).status == status


async def test_a_disconnect_that_takes_long_is_under_way(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DeviceRecord(1, state="disconnecting"))
    fake_hub.answer = TimeoutError()
    answer = await served.get(f"{P}/wifi/disconnect?device_id=1")
    assert (answer.status, answer.json["status"]) == (200, "disconnecting")


async def test_a_daemon_that_does_not_answer_is_unavailable(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(DeviceRecord(1))
    fake_hub.answer = TimeoutError()
    answer = await connect(served, 1, "")
    assert (answer.status, answer.problem["code"]) == (503, "backend-unavailable")


@pytest.mark.parametrize("error", [InternalError("secret inside"), RuntimeError("secret inside")])
async def test_a_bug_is_answered_without_its_inside(
    served: Served, fake_hub: FakeHub, error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_hub.appear(DeviceRecord(1))
    fake_hub.answer = error
    answer = await connect(served, 1)
    assert (answer.status, answer.problem["code"]) == (500, "internal")
    assert b"secret" not in answer.data
    assert b"Traceback" not in answer.data
    out, err = capsys.readouterr()
    assert (out + err).count("secret inside") == 1
