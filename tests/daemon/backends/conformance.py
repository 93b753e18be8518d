"""The requirements of the manager on every backend.

A backend's tests subclass `BackendConformance` and give it a fixture `stage`. The stage has at least
two adapters and one camera that is switched on.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, get_args

import pytest

from tests.daemon.backends.recording import Recorder, Reported
from wifimgrd.daemon.ports import READING_S, Backend, JoinRequest
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.domain.errors import (
    AddressFailed,
    AssociationRefused,
    AuthenticationFailed,
    BackendUnavailable,
    Busy,
    ConnectionLost,
    DeviceNotReachable,
    InterfaceLost,
)
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.network import Security
from wifimgrd.domain.recovery import BackendStep


class Stage(Protocol):
    """A world around a backend that has been started with `listener`."""

    backend: Backend
    listener: Recorder
    adapters: tuple[str, ...]
    ssid: Ssid
    passphrase: Passphrase

    async def power_on(self) -> None:
        """Switch the camera on."""

    async def power_off(self) -> None:
        """Switch the camera off orderly."""

    async def power_cut(self) -> None:
        """Cut the camera's power."""

    async def refuse(self) -> None:
        """The camera refuses all hosts from now on."""

    async def kill_dhcp(self) -> None:
        """The camera answers no DHCP from now on."""

    async def stall(self) -> None:
        """Joins take longer than anybody waits, from now on."""

    async def pull(self, interface: str) -> None:
        """Pull an adapter out."""

    async def plug(self, interface: str) -> None:
        """Plug it in again."""

    async def stop_other_side(self) -> None:
        """What the backend talks to goes away."""

    async def start_other_side(self) -> None:
        """It comes back."""

    async def restart(self) -> None:
        """A restart of the daemon: `backend` is another object and has been started."""


def _has_rates(reported: Reported) -> bool:
    return reported.link is not None and bool(reported.link.rates.tx_kbps and reported.link.rates.rx_kbps)


def request(
    stage: Stage,
    number: int = 0,
    *,
    passphrase: str | None = None,
    ssid: bytes | None = None,
    timeout_s: float = 20,
) -> JoinRequest:
    """A request for the stage's camera on its adapter of that number."""
    return JoinRequest(
        DeviceId(number + 1),
        stage.adapters[number],
        stage.ssid if ssid is None else Ssid(ssid),
        stage.passphrase if passphrase is None else Passphrase(passphrase),
        timeout_s,
    )


class BackendConformance:
    """The requirements, one by one."""

    async def test_it_reports_interfaces_before_it_is_ready(self, stage: Stage) -> None:
        await stage.listener.backend_is(BackendState.READY)
        words = [(reported.what, reported.interface) for reported in stage.listener.reported]
        ready = words.index(("backend_changed", ""))
        assert {("interface_facts", name) for name in stage.adapters} <= set(words[:ready])
        assert stage.backend.status.state is BackendState.READY

    async def test_a_join_ends_with_addresses(self, stage: Stage) -> None:
        link = await stage.backend.join(request(stage))
        assert link.camera_address
        assert link.local_address
        assert link.local_address != link.camera_address
        assert 0 < link.signal_percent <= 100
        assert link.sighting is not None
        assert stage.listener.about_links() == []

    async def test_a_link_is_read_again_and_has_bit_rates_then(self, stage: Stage) -> None:
        link = await stage.backend.join(request(stage))
        stage.listener.patience_s += READING_S
        read = (await stage.listener.next("link_changed", _has_rates)).link
        assert read is not None
        assert replace(link, signal_percent=read.signal_percent, rates=read.rates) == read
        assert 0 < read.signal_percent <= 100
        assert read.rates.tx_kbps % 100 == read.rates.rx_kbps % 100 == 0
        again = (await stage.listener.next("link_changed")).link
        assert again is not None
        assert again.sighting == link.sighting

    async def test_a_link_is_listed_with_its_device(self, stage: Stage) -> None:
        wanted = request(stage)
        link = await stage.backend.join(wanted)
        (held,) = await stage.backend.links()
        assert (held.device_id, held.interface, held.ssid) == (
            wanted.device_id,
            wanted.interface,
            wanted.ssid,
        )
        assert held.link.local_address == link.local_address

    async def test_a_wrong_password_is_said_to_be_wrong(self, stage: Stage) -> None:
        with pytest.raises(AuthenticationFailed) as error:
            await stage.backend.join(request(stage, passphrase="quite-another-one"))
        assert "quite-another-one" not in str(error.value)
        await self._nothing_is_left(stage)

    async def test_a_camera_that_is_off_is_not_reachable(self, stage: Stage) -> None:
        await stage.power_off()
        with pytest.raises(DeviceNotReachable):
            await stage.backend.join(request(stage))
        await self._nothing_is_left(stage)

    async def test_an_unknown_network_is_not_reachable(self, stage: Stage) -> None:
        with pytest.raises(DeviceNotReachable):
            await stage.backend.join(request(stage, ssid=b"nobody has \xff this"))

    async def test_a_refusal_is_not_taken_for_absence(self, stage: Stage) -> None:
        await stage.refuse()
        with pytest.raises(AssociationRefused):
            await stage.backend.join(request(stage))
        await self._nothing_is_left(stage)

    async def test_a_missing_address_is_a_failure(self, stage: Stage) -> None:
        await stage.kill_dhcp()
        with pytest.raises(AddressFailed):
            await stage.backend.join(request(stage))
        await self._nothing_is_left(stage)

    async def test_an_attempt_ends_in_time(self, stage: Stage) -> None:
        await stage.stall()
        with pytest.raises(DeviceNotReachable):
            await stage.backend.join(request(stage, timeout_s=0.05))
        await self._nothing_is_left(stage)

    async def test_a_cancelled_attempt_leaves_nothing(self, stage: Stage) -> None:
        await stage.stall()
        attempt = asyncio.create_task(stage.backend.join(request(stage)))
        await asyncio.sleep(0)
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        await self._nothing_is_left(stage)

    async def test_an_adapter_pulled_out_while_joining(self, stage: Stage) -> None:
        await stage.stall()
        attempt = asyncio.create_task(stage.backend.join(request(stage)))
        await asyncio.sleep(0)
        await stage.pull(stage.adapters[0])
        with pytest.raises(InterfaceLost):
            await attempt
        await self._nothing_is_left(stage)

    async def test_an_adapter_that_is_not_there(self, stage: Stage) -> None:
        await stage.pull(stage.adapters[0])
        with pytest.raises(InterfaceLost):
            await stage.backend.join(request(stage))

    async def test_an_adapter_pulled_out_while_up(self, stage: Stage) -> None:
        await stage.backend.join(request(stage))
        await stage.pull(stage.adapters[0])
        reported = await stage.listener.next("link_ended")
        assert isinstance(reported.error, InterfaceLost)
        assert reported.interface == stage.adapters[0]
        await stage.plug(stage.adapters[0])
        await stage.listener.next("interface_facts")
        await stage.backend.join(request(stage))

    async def test_leaving_is_silent(self, stage: Stage) -> None:
        await stage.backend.join(request(stage))
        await stage.backend.leave(stage.adapters[0])
        await self._nothing_is_left(stage)
        await stage.power_off()
        assert stage.listener.about_links() == []

    async def test_leaving_nothing_is_no_error(self, stage: Stage) -> None:
        await stage.backend.leave(stage.adapters[0])
        await stage.pull(stage.adapters[0])
        await stage.backend.leave(stage.adapters[0])

    async def test_an_interface_can_be_used_again(self, stage: Stage) -> None:
        for _ in range(3):
            await stage.backend.join(request(stage))
            await stage.backend.leave(stage.adapters[0])

    @pytest.mark.parametrize("step", get_args(BackendStep))
    async def test_an_interface_works_after_a_step_of_recovery(self, stage: Stage, step: BackendStep) -> None:
        async with asyncio.timeout(30):
            await stage.backend.recover(stage.adapters[0], step)
        await stage.backend.join(request(stage))
        with pytest.raises(Busy):
            await stage.backend.recover(stage.adapters[0], step)

    @pytest.mark.parametrize("orderly", [True, False])
    async def test_a_camera_that_goes_and_comes(self, stage: Stage, orderly: bool) -> None:
        await stage.backend.join(request(stage))
        await (stage.power_off() if orderly else stage.power_cut())
        reported = await stage.listener.next("link_interrupted")
        assert isinstance(reported.error, ConnectionLost)
        assert [held.up for held in await stage.backend.links()] == [False]
        await stage.power_on()
        back = await stage.listener.next("link_restored")
        assert back.link is not None
        assert back.link.camera_address
        assert [held.up for held in await stage.backend.links()] == [True]
        assert stage.listener.about_links() == ["link_interrupted", "link_restored"]

    async def test_an_interrupted_link_can_be_left(self, stage: Stage) -> None:
        await stage.backend.join(request(stage))
        await stage.power_off()
        await stage.listener.next("link_interrupted")
        await stage.backend.leave(stage.adapters[0])
        await stage.power_on()
        await stage.backend.join(request(stage))
        assert stage.listener.about_links() == ["link_interrupted"]

    async def test_the_other_side_goes_away(self, stage: Stage) -> None:
        await stage.backend.join(request(stage))
        await stage.stop_other_side()
        status = await stage.listener.backend_is(BackendState.UNAVAILABLE)
        assert status.reason
        reported = await stage.listener.next("link_ended")
        assert isinstance(reported.error, ConnectionLost)
        with pytest.raises(BackendUnavailable):
            await stage.backend.join(request(stage))
        await stage.backend.leave(stage.adapters[0])
        assert await stage.backend.links() == []
        await stage.start_other_side()
        await stage.listener.backend_is(BackendState.READY)
        await stage.backend.join(request(stage))

    async def test_the_other_side_goes_away_while_joining(self, stage: Stage) -> None:
        await stage.stall()
        attempt = asyncio.create_task(stage.backend.join(request(stage)))
        await asyncio.sleep(0)
        await stage.stop_other_side()
        with pytest.raises(BackendUnavailable):
            await attempt

    async def test_two_interfaces_do_not_touch_each_other(self, stage: Stage) -> None:
        await stage.backend.join(request(stage, 0))
        with pytest.raises(AuthenticationFailed):
            await stage.backend.join(request(stage, 1, passphrase="quite-another-one"))
        await stage.backend.join(request(stage, 1))
        await stage.backend.leave(stage.adapters[1])
        assert [held.interface for held in await stage.backend.links()] == [stage.adapters[0]]

    async def test_holding_and_releasing_never_fail(self, stage: Stage) -> None:
        for name in (*stage.adapters, "gone0"):
            await stage.backend.claim(name)
            await stage.backend.claim(name)
            await stage.backend.release(name)
            await stage.backend.release(name)

    async def test_links_survive_a_restart(self, stage: Stage) -> None:
        link = await stage.backend.join(request(stage))
        await stage.restart()
        await stage.listener.backend_is(BackendState.READY)
        (held,) = await stage.backend.links()
        assert held.device_id == 1
        assert held.link.local_address == link.local_address
        await stage.power_off()
        await stage.listener.next("link_interrupted")

    async def test_a_scan_finds_the_camera(self, stage: Stage) -> None:
        await stage.backend.scan(stage.adapters[0])
        received = [
            one for one in await stage.backend.recent_scan_results() if one.interface == stage.adapters[0]
        ]
        (point,) = [one for one in received if one.ssid == stage.ssid]
        assert point.security in (Security.WPA2, Security.WPA3, Security.WPA2_WPA3)
        assert point.signal_percent > 0
        assert point.last_seen_us > 0

    async def test_a_scan_on_an_adapter_that_is_not_there(self, stage: Stage) -> None:
        await stage.pull(stage.adapters[0])
        with pytest.raises(InterfaceLost):
            await stage.backend.scan(stage.adapters[0])

    async def test_a_join_does_not_wait_for_a_scan(self, stage: Stage) -> None:
        scan = asyncio.create_task(stage.backend.scan(stage.adapters[0]))
        await asyncio.sleep(0)
        await stage.backend.join(request(stage))
        with suppress(Busy):
            await scan

    async def test_nobody_scans_without_the_other_side(self, stage: Stage) -> None:
        await stage.stop_other_side()
        await stage.listener.backend_is(BackendState.UNAVAILABLE)
        with pytest.raises(BackendUnavailable):
            await stage.backend.scan(stage.adapters[0])

    async def _nothing_is_left(self, stage: Stage) -> None:
        assert await stage.backend.links() == []
        assert stage.listener.about_links() == []
