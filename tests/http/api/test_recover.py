"""A recovery step for a camera that does not answer, by HTTP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.http.conftest import START_S
from tests.http.fake_hub import FakeHub, changed
from tests.http.served import P, Served
from wifimgrd.bus.connection import Variant
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.commands import RECOVER
from wifimgrd.domain.errors import (
    Busy,
    CameraBusy,
    DeviceNotReachable,
    InvalidRequest,
    NotConnected,
    NotSupported,
    WifimgrdError,
)
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.records import DeviceRecord

SILENT = DeviceRecord(1, "Front", state="connected", interface="wlan0", reachable=False)


@pytest.mark.parametrize("step", LinkStep)
async def test_the_step_is_passed_on(served: Served, fake_hub: FakeHub, step: LinkStep) -> None:
    fake_hub.appear(SILENT)
    assert (await served.post(f"{P}/1/recover?step={step}")).status == 202
    assert (fake_hub.asked, fake_hub.switches) == ([(RECOVER.name, 1, 0.0)], {"step": step.value})


async def test_without_a_step_it_is_the_hubs_choice(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(SILENT)
    assert (await served.post(f"{P}/1/recover")).status == 202
    assert fake_hub.switches == {}


async def test_the_answer_is_the_record_with_the_step_that_runs(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(SILENT)
    fake_hub.happen(changed(replace(SILENT, state="connecting", recovery_step="rejoin"), "State"))
    answer = await served.post(f"{P}/1/recover")
    assert (answer.status, answer.headers["Content-Location"]) == (202, f"{P}/1/")
    assert (answer.json["connection_status"], answer.json["recovery_step"]) == ("connecting", "rejoin")
    status = (await served.get(f"{P}/wifi/status?device_id=1")).json
    assert status["recovery_step"] == "rejoin"


async def test_with_wait_it_is_answered_at_the_end(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(replace(SILENT, reachable=True))
    answer = await served.post(f"{P}/1/recover?step=rejoin&wait=20")
    assert (answer.status, answer.json["recovery_step"]) == (200, None)
    assert fake_hub.asked == [(RECOVER.name, 1, 20.0)]


@pytest.mark.parametrize(
    "query", ["step=replug", "step=", "step=rejoin&step=rejoin", "step=Rejoin", "wait=x"]
)
async def test_what_is_no_step_is_refused_unasked(served: Served, fake_hub: FakeHub, query: str) -> None:
    fake_hub.appear(SILENT)
    answer = await served.post(f"{P}/1/recover?{query}")
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")
    assert fake_hub.asked == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidRequest("the port is not named"), 400),
        (NotConnected("it is not connected"), 409),
        (Busy("a step runs"), 409),
        (CameraBusy("it records"), 409),
        (NotSupported("it is not on USB"), 409),
        (DeviceNotReachable("it does not answer"), 504),
    ],
)
async def test_why_it_fails(served: Served, fake_hub: FakeHub, error: WifimgrdError, status: int) -> None:
    fake_hub.appear(SILENT)
    fake_hub.answer = error
    answer = await served.post(f"{P}/1/recover?wait=1")
    assert (answer.status, answer.problem["code"]) == (status, error.code)


async def test_it_is_one_resource_and_no_question(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(SILENT)
    assert (await served.get(f"{P}/1/recover")).status == 405
    assert (await served.post(f"{P}/wifi/recover?device_id=1")).status == 404
    assert fake_hub.asked == []


async def test_a_dead_link_is_recovered_and_stands_in_the_history(shim: Served, hub: HubClient) -> None:
    settings = {"ssid": "SIM-CAM-1", "password": "camera-pass-1"}
    camera = {"codename": "insta360-x3", "connection_type": "wifi", "connection_settings": settings}
    device_id = (await shim.post(P, json=camera)).json["id"]
    await hub.wait_until(lambda hub: hub.devices[device_id].state == "connected", START_S)
    await hub.simulate("SetFault", "sa{sv}", "dead-link", {"heals": Variant("s", "rejoin")})
    steps: list[str | None] = []
    end = hub.subscribe(lambda _: steps.append(hub.devices[device_id].recovery_step))
    answer = await shim.post(f"{P}/{device_id}/recover?step=rejoin&wait=60")
    end()
    assert (answer.status, answer.json["reachable"], answer.json["recovery_step"]) == (200, True, None)
    assert "rejoin" in steps
    rows = (await shim.get(f"{P}/history?device_id={device_id}")).json["history"]
    [row] = [one for one in rows if one["kind"] == "recovery"]
    assert (row["code"], row["ended"] is not None) == ("rejoin", True)
    assert hub.service.recoveries["rejoin"] == 1
