"""Which calls of a daemon are carried out, and in which order."""

from __future__ import annotations

import asyncio
import os
from asyncio import Task

from wifimgrd.bus.connection import BusConnection, MethodCall
from wifimgrd.wire import helper_calls
from wifimgrd.wire.private_service import PrivateService


def restart_link(caller: BusConnection, service: BusConnection, member: str = "RestartLink") -> Task[object]:
    """A call that needs no more than to be admitted."""
    return asyncio.create_task(
        caller.call(service.unique_name, helper_calls.PATH, helper_calls.BUS_NAME, member, "s", ["wlan0"])
    )


async def test_no_call_of_a_daemon_overtakes_its_first(service: BusConnection, caller: BusConnection) -> None:
    calls: asyncio.Queue[MethodCall] = asyncio.Queue()
    is_prepared = asyncio.Event()

    async def prepare() -> None:
        await is_prepared.wait()

    private = PrivateService(service, helper_calls.INTERFACE, os.getuid(), prepare)
    order: list[str] = []

    async def admit(call: MethodCall) -> None:
        await private.admit(call)
        order.append(call.member)
        service.reply(call)

    service.serve(calls.put_nowait)
    requests, admissions = [], []
    for member in ("RestartLink", "ReleaseLink", "RestartLink"):
        requests.append(restart_link(caller, service, member))
        admissions.append(asyncio.create_task(admit(await calls.get())))
        await service.round_trip()  # meanwhile it asks the bus who called
        await service.round_trip()  # and has its answer
    assert order == []
    is_prepared.set()
    await asyncio.gather(*requests, *admissions)
    assert order == ["RestartLink", "ReleaseLink", "RestartLink"]


async def test_where_a_daemon_cannot_be_prepared_for_none_of_its_calls_is_admitted(
    service: BusConnection, caller: BusConnection
) -> None:
    calls: asyncio.Queue[MethodCall] = asyncio.Queue()
    failures = [TimeoutError("first"), TimeoutError("second")]
    prepared: list[str] = []

    async def prepare() -> None:
        await asyncio.sleep(0)  # meanwhile the next call comes
        if failures:
            raise failures.pop(0)
        prepared.append(private.daemon)

    private = PrivateService(service, helper_calls.INTERFACE, os.getuid(), prepare)
    service.serve(calls.put_nowait)
    requests = [restart_link(caller, service) for _ in range(4)]
    received = [await calls.get() for _ in requests]
    admitted = await asyncio.gather(*map(private.admit, received), return_exceptions=True)
    assert list(map(str, admitted)) == ["first", "second", "None", "None"]
    assert prepared == [caller.unique_name]
    for request in requests:
        request.cancel()


async def test_a_daemon_is_prepared_for_while_it_is_for_no_other(
    service: BusConnection, caller: BusConnection
) -> None:
    calls: asyncio.Queue[MethodCall] = asyncio.Queue()
    is_over, begun = asyncio.Event(), asyncio.Queue[str]()

    async def prepare() -> None:
        begun.put_nowait(private.daemon)
        await is_over.wait()

    private = PrivateService(service, helper_calls.INTERFACE, os.getuid(), prepare)
    service.serve(calls.put_nowait)
    requests = [restart_link(one, service) for one in (caller, service)]
    admissions = [asyncio.create_task(private.admit(await calls.get())) for _ in requests]
    first = await begun.get()
    await service.round_trip()
    await service.round_trip()
    assert begun.empty()
    is_over.set()
    await asyncio.gather(*admissions)
    assert {first, await begun.get()} == {caller.unique_name, service.unique_name}
    for request in requests:
        request.cancel()
