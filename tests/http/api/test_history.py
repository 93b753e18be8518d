"""The history over HTTP, on the real daemon."""

from __future__ import annotations

import signal
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.http.api.test_connect import connect, register
from tests.http.served import P, Served
from tests.processes import Hub
from wifimgrd.client.hub import HubClient
from wifimgrd.daemon.store._history import SqliteHistory
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.signal_history import SignalSample

MEMBERS = {
    "id", "time", "device_id", "device_name", "kind", "interface", "code", "message", "ended",
    "signal_minimum", "signal_mean", "serial_number", "battery_level", "battery_level_after", "storage_free",
    "storage_free_after", "clock_offset_ms", "clock_bound_ms", "files",
}  # fmt: skip


async def rows(shim: Served, query: str = "") -> Any:
    return (await shim.get(f"{P}/history{query}")).json["history"]


async def test_sessions_and_failures_are_reported_newest_first(shim: Served) -> None:
    device_id = await register(shim)
    assert (await connect(shim, device_id)).status == 200
    (row,) = await rows(shim)
    assert row.keys() == MEMBERS
    assert (row["kind"], row["device_id"], row["device_name"]) == ("session", device_id, "SIM-CAM-1")
    assert (row["interface"], row["ended"], row["code"], row["signal_mean"]) == ("wlan0", None, None, 70)
    await shim.post(f"{P}/wifi/disconnect?device_id={device_id}")
    assert (await rows(shim))[0]["ended"] > row["time"]
    other = await register(shim, "SIM-CAM-OFF", "camera-pass-off")
    assert (await connect(shim, other)).status == 504
    assert [(one["kind"], one["code"]) for one in await rows(shim)] == [
        ("failure", "device-not-reachable"),
        ("session", None),
    ]
    assert [one["device_id"] for one in await rows(shim, f"?device_id={device_id}")] == [device_id]
    newest = (await rows(shim, "?limit=1"))[0]
    assert [one["kind"] for one in await rows(shim, f"?before={newest['id']}")] == ["session"]
    assert await rows(shim, "?device_id=4711") == []


async def test_an_interruption_that_is_over_has_its_begin_its_end_and_its_reason(
    shim: Served, hub: HubClient
) -> None:
    device_id = await register(shim)
    await connect(shim, device_id)
    for method, signature, rest in (("PowerOffCamera", "ayb", (True,)), ("PowerOnCamera", "ay", ())):
        before = hub.devices[device_id].state
        await hub.simulate(method, signature, b"SIM-CAM-1", *rest)
        await hub.wait_until(lambda client, was=before: client.devices[device_id].state != was, 10)  # type: ignore[misc]
    interruption, session = await rows(shim)
    assert interruption.keys() == MEMBERS
    assert (interruption["kind"], interruption["interface"]) == ("interruption", "wlan0")
    assert interruption["code"] == "connection-lost"
    assert interruption["message"].endswith("SIM-CAM-1 was switched off")
    assert session["time"] < interruption["time"] < interruption["ended"]
    assert (session["kind"], session["ended"], session["code"]) == ("session", None, None)


async def test_the_signal_of_a_device_is_told_minute_by_minute(shim: Served, hub: HubClient) -> None:
    device_id = await register(shim)
    assert (await connect(shim, device_id)).status == 200
    answer = (await shim.get(f"{P}/{device_id}/signal")).json
    assert answer.keys() == {"step_s", "samples", "battery"}
    assert answer["battery"] == [None] * len(answer["samples"]), "its model has no driver"
    ((begun, mean, minimum),) = answer["samples"][:1]
    assert (answer["step_s"], mean, minimum) == (60, 70, 70)
    assert begun.endswith(":00.000000Z")
    assert (await shim.get(f"{P}/{device_id}/signal/?since={begun}")).json == answer
    assert (await shim.get(f"{P}/{device_id}/signal?until={begun}")).json["samples"] == []
    assert (await shim.get(f"{P}/{device_id}/signal?since=1970-01-01T00:00:00Z")).json == answer
    assert (await shim.get(f"{P}/{device_id}/signal?since=0240-04-17T05:13:37.51%2B18:16")).json == answer
    for until in ("1969-01-01T00:00:00Z", "1970-01-01T00:00:00Z"):
        assert (await shim.get(f"{P}/{device_id}/signal?until={until}")).json["samples"] == []
    assert (await shim.get(f"{P}/{device_id}/signal?since=9999-12-31T23:59:59-01:00")).json["samples"] == []
    assert (await hub.signal_history(device_id)).samples[0][1:] == (70, 70)
    other = await register(shim, "SIM-CAM-OFF", "camera-pass-off")
    assert (await shim.get(f"{P}/{other}/signal")).json == {"step_s": 60, "samples": [], "battery": []}
    assert (await shim.get(f"{P}/4711/signal")).status == 404


async def test_the_battery_stands_beside_the_signal_where_it_is_known(
    shim: Served, daemon: Hub, hub: HubClient
) -> None:
    device_id = await register(shim)
    await shim.post(f"{P}/wifi/disconnect?device_id={device_id}")
    await daemon.end()
    store = await SqliteHistory.open(daemon.state, 100, 90)
    first = time.time_ns() // 60_000_000_000 - 90
    kept = {first + ago: SignalSample(60, 50, level) for ago, level in enumerate([0, None, 100, 99])}
    store.put_signals({DeviceId(device_id): kept})
    await store.close()
    await daemon.start()
    await hub.wait_until(lambda client: client.available, 10)
    until = datetime.fromtimestamp((first + 10) * 60, UTC).isoformat().replace("+", "%2B")
    answer = (await shim.get(f"{P}/{device_id}/signal?until={until}")).json
    assert answer["battery"] == [0, None, 100, 99]
    assert [sample[1:] for sample in answer["samples"]] == [[60, 50]] * 4
    since = answer["samples"][2][0]
    assert (await shim.get(f"{P}/{device_id}/signal?since={since}&until={until}")).json["battery"] == [
        100,
        99,
    ]


async def test_the_signal_outlives_an_orderly_restart(shim: Served, daemon: Hub, hub: HubClient) -> None:
    device_id = await register(shim)
    await connect(shim, device_id)
    (before, *_) = (await hub.signal_history(device_id)).samples
    await daemon.end()
    await daemon.start()
    await hub.wait_until(lambda client: client.available, 10)
    assert (await hub.signal_history(device_id)).samples[0] == before


@pytest.mark.parametrize(
    "query",
    ["since=", "since=x", "since=1", "since=2026-11-20T17:07:43", "until=2026-11-20",
     "since=2026-11-20T17:00:00Z&since=2026-11-20T18:00:00Z",
     "until=" + "9" * 300, "until=%00"],
)  # fmt: skip
async def test_another_time_is_refused(shim: Served, query: str) -> None:
    device_id = await register(shim)
    answer = await shim.get(f"{P}/{device_id}/signal?{query}")
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=1001", "limit=x", "limit=", "limit=-1", "limit=1&limit=2", "before=x", "before=0",
     "device_id=x", "before=9223372036854775808"],
)  # fmt: skip
async def test_another_value_is_refused(shim: Served, query: str) -> None:
    answer = await shim.get(f"{P}/history/?{query}")
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")


async def test_a_removed_device_stays_in_it_unless_it_is_taken_along(shim: Served) -> None:
    first, second = await register(shim), await register(shim, "SIM-CAM-2", "camera-pass-2")
    for device_id in (first, second):
        await connect(shim, device_id)
    assert (await shim.ask("DELETE", f"{P}/{first}/?history=2")).status == 400
    assert (await shim.ask("DELETE", f"{P}/{first}/?history=1")).status == 204
    assert (await shim.ask("DELETE", f"{P}/{second}/")).status == 204
    (row,) = await rows(shim)
    assert (row["device_name"], row["ended"] is not None) == ("SIM-CAM-2", True)


async def test_a_session_that_ended_outlives_a_kill_of_the_daemon(
    shim: Served, daemon: Hub, hub: HubClient
) -> None:
    device_id = await register(shim)
    await connect(shim, device_id)
    await shim.post(f"{P}/wifi/disconnect?device_id={device_id}")
    history = daemon.state / "history.db-wal"
    while not (history.exists() and b"Disconnected by a command" in history.read_bytes()):
        await rows(shim)
    # All before it is on disk, too: after a crash in between, the camera would be connected again.
    await hub.update_device(device_id, {"name": "Nose"})
    await daemon.end(signal.SIGKILL)
    await daemon.start()
    await hub.wait_until(lambda client: client.available, 10)
    (row,) = await rows(shim)
    assert (row["kind"], row["device_id"], row["ended"] is not None) == ("session", device_id, True)
