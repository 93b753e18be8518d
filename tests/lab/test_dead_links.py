"""Links that are up and dead, on real 802.11: what tells a camera's service from its host, and no step for
a link that is weak and alive.

A firmware that hangs cannot be emulated there: hwsim's radios have none.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from tests.faults.random_life import seed
from wifimgrd.daemon.helper_client.link_evidence import KernelLinkEvidence
from wifimgrd.domain.dead_links import Asked, Evidence, Finding, compare, judge

from .backends import on_wpa_supplicant
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import DeadlineError, async_poll_until
from .guest.lossy_air import lossy_air
from .guest.namespace import run
from .guest.network_manager import NetworkManager
from .guest.traffic import fetch
from .guest.whole_hub import Json, WholeHub, whole_hub

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]
Plug = Callable[..., Awaitable[Adapter]]

SILENT_S = 10
QUICK = f"[recovery]\nsilent_link_s = {SILENT_S}\n"


class Link:
    """A link to a camera, and what the daemon's own code observes of it."""

    def __init__(self, adapter: Adapter, camera: Camera) -> None:
        self.interface, self.camera = adapter.interface, camera
        self.evidence = KernelLinkEvidence()

    async def finding(self, break_it: Callable[[], None]) -> Finding:
        """The finding about a link that something has broken, from the begin of the silence on."""
        assert fetch(self.interface) == self.camera.name
        break_it()
        # As after the half minute for which the kernel trusts an answer.
        neighbour = (self.camera.address, "dev", self.interface, "nud", "stale")
        run("ip", "neighbour", "change", *neighbour)
        began_s, before = time.monotonic(), await self.evidence.counters(self.interface)
        assert before is not None
        assert before.beacons
        probing = asyncio.create_task(self._probe())
        try:
            asked = Asked.NOT_ASKED
            while asked is Asked.NOT_ASKED and time.monotonic() - began_s < 3 * SILENT_S:
                within_s = time.monotonic() - began_s
                asked = await self.evidence.asked(self.interface, self.camera.address, within_s)
        finally:
            probing.cancel()
            await asyncio.wait({probing})
        assert asked is not Asked.NOT_ASKED
        counting = compare(before, await self.evidence.counters(self.interface))
        return judge(Evidence().counted(counting).asked(asked is Asked.ANSWERED))

    async def _probe(self) -> None:
        """Try to get an answer, as the daemon does."""
        while True:
            with suppress(ConnectionError):
                await asyncio.to_thread(fetch, self.interface, seconds=3)


@pytest.fixture
async def link(nm: NetworkManager, cameras: Cameras, adapters: Adapters) -> Link:
    """A link that is up."""
    adapter, camera = adapters(), cameras("A")
    await nm.connect(adapter.interface, camera)
    return Link(adapter, camera)


async def test_a_service_that_hangs_leaves_its_host_answering(link: Link) -> None:
    assert await link.finding(link.camera.mute) is Finding.ANSWERS_ARP


async def test_a_camera_whose_ip_side_hangs_is_on_the_air(link: Link) -> None:
    assert await link.finding(link.camera.hang) is Finding.ON_THE_AIR


async def test_a_camera_without_power_has_no_link_to_judge(link: Link) -> None:
    assert await link.evidence.counters(link.interface) is not None
    link.camera.kill()

    async def is_lost() -> bool:
        return await link.evidence.counters(link.interface) is None

    await async_poll_until(is_lost, "the end of the association", 10)


@asynccontextmanager
async def quick_hub(plug: Plug) -> AsyncIterator[WholeHub]:
    """The product with two adapters, and short silences."""
    adapters = [await plug(), await plug()]
    async with whole_hub(QUICK) as hub:
        for adapter in adapters:
            await hub.interface_state(adapter.interface, "available")
        yield hub


async def steps(hub: WholeHub) -> list[Json]:
    """The recovery steps in the history, the oldest first."""
    status, answer = await hub.ask("GET", "/history")
    assert status == 200
    return [row for row in reversed(answer["history"]) if row["kind"] == "recovery"]


@on_wpa_supplicant
async def test_a_service_that_hangs_is_rejoined_once_and_through_another_adapter_once(
    plug: Plug, cameras: Cameras
) -> None:
    async with quick_hub(plug) as hub:
        camera = cameras("A")
        camera.count_requests()
        device = await hub.add(camera, "generic-wifi-camera")
        await hub.until(device, "connected")
        first = hub.dbus.devices[device].interface

        async def is_probed() -> bool:
            return camera.requests() > 0

        await async_poll_until(is_probed, "a probe that was answered")  # or the probe might not fit
        camera.mute()

        async def were_taken() -> bool:
            rows = await steps(hub)
            return len(rows) > 1 and all(row["ended"] for row in rows)

        await async_poll_until(were_taken, "two steps that have ended", 150)
        rows = await steps(hub)
        assert [row["code"] for row in rows] == ["rejoin", "other-adapter"]
        assert rows[0]["interface"] == first
        # In the link that was joined for it, the kernel has asked the camera.
        assert str(Finding.ANSWERS_ARP).rstrip(".") in rows[1]["message"]
        await hub.all_in("connected", [device], 20)
        assert hub.dbus.devices[device].interface != first
        camera.unmute()
        await hub.dbus.wait_until(lambda client: client.devices[device].reachable, 20)


@on_wpa_supplicant
async def test_a_link_that_is_weak_and_alive_has_no_step(plug: Plug, cameras: Cameras) -> None:
    """A fifth of all data is lost for ever, each way, for ten times the time after which a step is due."""
    async with quick_hub(plug) as hub:
        device = await hub.add(cameras("A"), "generic-wifi-camera")
        await hub.until(device, "connected")
        hub.channel.forget()

        async def is_stepped() -> bool:
            return bool(await steps(hub))

        with (
            lossy_air(random.Random(seed()), lost=0.2, unacknowledged=0.0, all_data=True) as air,
            pytest.raises(DeadlineError),
        ):
            await async_poll_until(is_stepped, "a step", 10 * SILENT_S)
        assert air.lost
        assert hub.channel.statuses(device) in ([], ["connected"]), "its link was never taken down"
        await hub.expect(device, "connected")
