"""The lab before anything of ours: two adapters, three cameras, NetworkManager and nobody else."""

import asyncio
from collections.abc import Callable

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.network_manager import DeviceState, NetworkManager
from .guest.traffic import Download, fetch


async def test_smoke_two_adapters_three_cameras(
    nm: NetworkManager, cameras: Callable[..., Camera], adapters: Callable[..., Adapter]
) -> None:
    first, second = adapters(), adapters()
    a, b, c = cameras("A"), cameras("B"), cameras("C", security="sae")
    for adapter in (first, second):
        await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)

    await asyncio.gather(nm.join(first.interface, a), nm.join(second.interface, c))
    for adapter in (first, second):
        await nm.wait_for_state(adapter.interface, DeviceState.ACTIVATED)
    assert (fetch(first.interface), fetch(second.interface)) == ("A", "C")
    assert (a.stations(), b.stations(), c.stations()) == (
        [first.permanent_address], [], [second.permanent_address],
    )  # fmt: skip

    with Download(second.interface) as download:
        download.expect_more()
        await nm.disconnect(first.interface)
        await nm.wait_for_state(first.interface, DeviceState.DISCONNECTED)
        await nm.join(first.interface, b)
        await nm.wait_for_state(first.interface, DeviceState.ACTIVATED)
        assert (fetch(first.interface), fetch(second.interface)) == ("B", "C")
        download.expect_more()
