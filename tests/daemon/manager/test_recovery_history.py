"""The rows of recovery steps of cameras, and what becomes of the session whose link a step takes down."""

from __future__ import annotations

import asyncio

import pytest

from tests.daemon.manager.test_history import (
    SECOND,
    HistoryInMemory,
    interrupted,
    kinds,
    now_us,
    remembered,
    run,
    started,
)
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.events import AdapterRecovery, InterfaceRemoved, LinkStepEnded, LinkStepStarted
from wifimgrd.domain.history import HistoryFilter
from wifimgrd.domain.link_steps import LinkStep, StepResult


def test_a_step_is_a_row_with_its_result_and_the_session_goes_on() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            await asyncio.sleep(30)
            begun_us = now_us()
            step = asyncio.ensure_future(bench.hub.device_commands["recover"](device, wait=True))
            await asyncio.sleep(0.1)
            row, session = await history.read(HistoryFilter())
            assert (row.kind, row.device_id, row.device_name) == ("recovery", device, "SIM-CAM-1")
            assert (row.interface, row.code, row.message) == ("wlan0", "rejoin", "By a command.")
            assert row.ended_us == 0
            assert (session.kind, session.ended_us) == ("session", 0)
            await step
            row, session = await history.read(HistoryFilter())
            assert row.message == "By a command. Joining the camera's network again: the camera answers."
            assert row.time_us == pytest.approx(begun_us, abs=SECOND)
            assert row.ended_us - row.time_us == pytest.approx(now_us() - begun_us, abs=SECOND)
            assert (session.kind, session.ended_us, session.interrupted_us) == ("session", 0, 0)
            await interrupted(bench)
            await bench.hub.connections.disconnect(device)
            assert await kinds(history) == [
                "interruption SIM-CAM-1 connection-lost",  # that of later
                "recovery SIM-CAM-1 rejoin",
                "session SIM-CAM-1 ",
            ]
            await bench.hub.stop()

    run(test())


def test_a_step_whose_rejoin_fails_ends_the_session_when_the_link_was_taken_down() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            await asyncio.sleep(30)
            down_us = now_us()
            await bench.hub.device_commands["recover"](device)
            bench.world.set_fault("dhcp-dead", {"ssid": b"SIM-CAM-1"})
            await asyncio.sleep(25)
            row, session = await history.read(HistoryFilter())
            assert (
                row.message
                == "By a command. Joining the camera's network again: the camera has not come back."
            )
            assert (session.code, bench.code(device)) == ("address-failed", "address-failed")
            assert session.ended_us == pytest.approx(down_us, abs=SECOND)
            await bench.hub.stop()

    run(test())


def test_a_step_after_which_the_session_goes_on_through_another_adapter_names_it() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            await bench.hub.device_commands["recover"](device, wait=True, step="other-adapter")
            row, _ = await history.read(HistoryFilter())
            told = "Joining the camera's network through another adapter: the camera answers, through wlan1."
            assert (row.interface, row.message) == ("wlan0", f"By a command. {told}")
            await bench.hub.stop()

    run(test())


def test_a_disconnect_during_a_step_ends_both_rows() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            await bench.hub.device_commands["recover"](device)
            await bench.hub.connections.disconnect(device)
            row, session = await history.read(HistoryFilter())
            told = "Joining the camera's network again: whether that has helped is not known."
            assert row.message == f"By a command. {told}"
            assert row.ended_us
            assert (session.code, session.message) == (
                "connection-lost",
                "a recovery step took the link down, and it did not come back",
            )
            await bench.hub.stop()

    run(test())


def test_a_step_that_ran_when_the_hub_was_killed_is_ended_by_the_next_one() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        with remembered(store) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            await asyncio.sleep(30)
            await bench.hub.device_commands["recover"](device)
            await asyncio.sleep(0.1)
            assert bench.state(device) is DeviceState.CONNECTING
            left = dict(store.rows)
        store.rows = left
        with remembered(store) as (again, history):
            await started(again, history)
            rows = await history.read(HistoryFilter())
            (row,) = [one for one in rows if one.kind == "recovery"]
            assert row.ended_us == row.time_us
            assert (
                row.message
                == "By a command. Joining the camera's network again: the hub was stopped meanwhile."
            )
            assert [one.ended_us > 0 for one in rows] == [True, True]
            await again.hub.stop()
        await bench.hub.stop()

    run(test())


def test_the_rows_of_steps_go_with_their_device() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            await bench.hub.device_commands["recover"](device)
            history.forget(device)
            await asyncio.sleep(30)
            assert bench.story.devices[device].recovery_step is None
            assert "recovery" not in " ".join(await kinds(history))
            await bench.hub.stop()

    run(test())


@pytest.mark.parametrize(
    ("step", "what"),
    [(LinkStep.POWER_PORT, "went away during power-port"), (LinkStep.REJOIN, "was unplugged")],
)
def test_an_adapter_that_goes_during_a_step_of_its_port_was_not_unplugged(step: LinkStep, what: str) -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            history.publish(LinkStepStarted(device, "wlan0", step, "It is silent."))
            history.publish(InterfaceRemoved("wlan1"))
            history.publish(InterfaceRemoved("wlan0"))
            rows = [one for one in await history.read(HistoryFilter()) if one.code == "unplugged"]
            told = [f"The adapter wlan0 {what}.", "The adapter wlan1 was unplugged."]
            assert [one.message for one in rows] == told
            await bench.hub.stop()

    run(test())


def test_the_row_of_a_step_of_a_port_that_has_failed_says_why() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            step = LinkStep.POWER_PORT
            history.publish(LinkStepStarted(device, "wlan1", step, "It is silent."))
            history.publish(LinkStepEnded(device, step, StepResult.CAME_BACK, "the adapter is lost"))
            (row,) = [one for one in await history.read(HistoryFilter()) if one.code == step]
            assert row.message.endswith(
                " has failed: the adapter is lost. The camera answers again, through wlan0."
            )
            await bench.hub.stop()

    run(test())


def test_a_step_of_an_idle_adapter_is_a_row_of_the_adapter() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            history.publish(AdapterRecovery("wlan0", LinkStep.RESET_PORT))
            (row,) = [one for one in await history.read(HistoryFilter()) if one.code == "reset-port"]
            assert (row.kind, row.interface, row.device_id) == ("adapter", "wlan0", None)
            assert row.message == "The adapter wlan0 does not work; trying reset-port."
            await bench.hub.stop()

    run(test())
