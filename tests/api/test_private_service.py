"""In which order the calls of a daemon are carried out."""

from __future__ import annotations

import asyncio
import os

from wifimgrd.api.private_service import PrivateService
from wifimgrd.bus.connection import BusConnection, MethodCall
from wifimgrd.helper import names


async def test_no_call_of_a_daemon_overtakes_its_first(service: BusConnection, caller: BusConnection) -> None:
    calls: asyncio.Queue[MethodCall] = asyncio.Queue()
    is_prepared = asyncio.Event()

    async def prepare() -> None:
        await is_prepared.wait()

    private = PrivateService(service, names.PATH, names.INTERFACE, os.getuid(), prepare)
    order: list[str] = []

    async def admit(call: MethodCall) -> None:
        await private.admit(call)
        order.append(call.member)
        service.reply(call)

    service.serve(calls.put_nowait)
    requests, admissions = [], []
    for member in ("RestartLink", "ReleaseLink", "RestartLink"):
        requests.append(
            asyncio.create_task(
                caller.call(service.unique_name, names.PATH, names.INTERFACE, member, "s", ["wlan0"])
            )
        )
        admissions.append(asyncio.create_task(admit(await calls.get())))
        await service.round_trip()  # meanwhile it asks the bus who called
        await service.round_trip()  # and has its answer
    assert order == []
    is_prepared.set()
    await asyncio.gather(*requests, *admissions)
    assert order == ["RestartLink", "ReleaseLink", "RestartLink"]
