"""What follows where the access point did not get the end of the handshake, and how an attempt ends."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from wifimgrd.backends.base_attempt import BaseAttempt, Joined
from wifimgrd.backends.lease_check import LeaseCheck, LinkReading
from wifimgrd.dbus.connection import BusClosed, BusError
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.domain.errors import (
    AuthenticationFailed,
    BackendUnavailable,
    DeviceNotReachable,
    InterfaceLost,
    WifimgrdError,
)
from wifimgrd.ports import JoinRequest
from wifimgrd.wpa_supplicant.diagnosis import HandshakeLost

JOINED = cast("Joined[LinkReading]", object())
REFUSED = WifimgrdError("it is refused")
AT_DEADLINE = WifimgrdError("it took too long")


class Attempt(BaseAttempt[Joined[LinkReading]]):
    """Its connections end so, one after the other; it waits where none is left."""

    NO_REPLY = "there is no reply"

    def __init__(self, *ends: Exception | Joined[LinkReading], within_s: float = 30.0) -> None:
        request = JoinRequest(DeviceId(1), "wlan0", Ssid(b"CAM"), Passphrase("12345678"), within_s)
        deadline = asyncio.get_running_loop().time() + within_s
        super().__init__(request, deadline, cast("LeaseCheck", object()))
        self.left = list(ends)
        self.waiting = asyncio.Event()
        self.clean_ups = 0

    async def _join(self) -> Joined[LinkReading]:
        if not self.left:
            self.waiting.set()
            await asyncio.Event().wait()
        end = self.left.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    async def _clean_up(self) -> None:
        self.clean_ups += 1

    def _verdict_at_deadline(self) -> WifimgrdError:
        return AT_DEADLINE

    def _refusal(self, error: BusError) -> WifimgrdError:
        return REFUSED


async def test_it_is_repeated_once() -> None:
    attempt = Attempt(HandshakeLost("lost"), JOINED)
    assert await attempt.run() is JOINED
    assert attempt.clean_ups == 1


async def test_the_second_time_the_camera_is_not_reachable() -> None:
    with pytest.raises(DeviceNotReachable) as caught:
        await Attempt(HandshakeLost("lost"), HandshakeLost("lost again")).run()
    assert (type(caught.value), caught.value.message) == (DeviceNotReachable, "lost again")


async def test_a_wrong_password_is_not_tried_again() -> None:
    with pytest.raises(AuthenticationFailed):
        await Attempt(AuthenticationFailed("wrong"), JOINED).run()


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (BusError("org.example.Error", "no"), REFUSED.message),
        (BusClosed(), "the connection to the message bus was lost"),
        (TimeoutError(), "there is no reply"),
    ],
)
async def test_an_error_of_the_bus_is_one_of_the_backend(error: Exception, cause: str) -> None:
    attempt = Attempt(error)
    with pytest.raises(WifimgrdError) as caught:
        await attempt.run()
    assert caught.value.message == cause
    assert attempt.clean_ups == 1


async def test_at_the_deadline_the_verdict_is_raised() -> None:
    attempt = Attempt(within_s=0.0)
    with pytest.raises(WifimgrdError) as caught:
        await attempt.run()
    assert (caught.value, attempt.clean_ups) == (AT_DEADLINE, 1)


async def test_the_first_cause_for_which_it_is_aborted_is_raised() -> None:
    attempt = Attempt()
    running = asyncio.create_task(attempt.run())
    async with asyncio.timeout(10):
        await attempt.waiting.wait()
        attempt.abort(InterfaceLost("it was unplugged"))
        attempt.abort(BackendUnavailable("wpa_supplicant stopped"))
        with pytest.raises(InterfaceLost, match="unplugged"):
            await running
    assert attempt.clean_ups == 1
