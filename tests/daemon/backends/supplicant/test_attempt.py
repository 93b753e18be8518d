"""What follows where the access point did not get the end of the handshake, and how an attempt ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from wifimgrd.bus.connection import BusClosed, BusError
from wifimgrd.daemon.backends.supplicant.attempt import Joined, SupplicantAttempt
from wifimgrd.daemon.backends.supplicant.bss_users import BssUsers
from wifimgrd.daemon.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.daemon.backends.supplicant.diagnosis import HandshakeLost
from wifimgrd.daemon.backends.supplicant.lease_check import LeaseCheck, LinkReading
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId, Passphrase, Sighting, Ssid
from wifimgrd.domain.errors import (
    AssociationRefused,
    AuthenticationFailed,
    BackendUnavailable,
    DeviceNotReachable,
    InterfaceLost,
    WifimgrdError,
)
from wifimgrd.proxies.wpa_supplicant.bss import Bss, KeyManagement
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.proxies.wpa_supplicant.scan_queue import ScanRefused

JOINED = cast("Joined[LinkReading]", object())
REFUSED = WifimgrdError("it is refused")
AT_DEADLINE = WifimgrdError("it took too long")


class Attempt(SupplicantAttempt[Joined[LinkReading]]):
    """Its connections end so, one after the other; it waits where none is left."""

    NO_REPLY = "there is no reply"

    def __init__(self, *ends: Exception | Joined[LinkReading], within_s: float = 30.0) -> None:
        request = JoinRequest(DeviceId(1), "wlan0", Ssid(b"CAM"), Passphrase("12345678"), within_s)
        deadline = asyncio.get_running_loop().time() + within_s
        super().__init__(request, deadline, cast("LeaseCheck", object()), Air({}).users)
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


async def test_a_handshake_that_is_lost_at_the_deadline_is_not_repeated() -> None:
    attempt = Attempt(HandshakeLost("lost"), JOINED, within_s=0.0)
    with pytest.raises(DeviceNotReachable, match="lost"):
        await attempt.run()
    assert attempt.left == [JOINED]


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


A, B, C = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"
WRONG, FULL, SILENT = AuthenticationFailed("wrong"), AssociationRefused("full"), DeviceNotReachable("silent")
PASSPHRASE, OPEN = Passphrase("12345678"), Passphrase("")


class SupplicantOfSome:
    """A supplicant whose driver supports these suites."""

    def __init__(self, *suites: str) -> None:
        self.suites = suites

    async def supports(self, suite: str) -> bool:
        return suite in self.suites


def point(bssid: str, suite: str = "wpa-psk") -> Bss:
    return Bss("/bss", b"CAM", bssid, 2412, 0, frozenset({suite} - {""}), bool(suite))


class Air:
    """Access points with one SSID, and what each of them answers; the attempts at them use them meanwhile."""

    def __init__(
        self,
        answers: Mapping[str, Exception | Joined[LinkReading]],
        suite: str = "wpa-psk",
        supplicant: SupplicantOfSome | None = None,
    ) -> None:
        self.answers = answers
        self.points = [point(bssid, suite) for bssid in answers]
        self.supplicant = cast("SupplicantInterface", supplicant or SupplicantOfSome())
        self.in_use: dict[str, DeviceId] = {}
        self.running: list[AttemptOnAir] = []
        self.users = BssUsers(self.in_use.items, lambda: [(one.bssid, one.device_id) for one in self.running])
        self.searches = 0
        self.missed: Mapping[int, Sequence[str]] = {}
        """Who is missed, by the number of the search."""
        self.refused_search = 0
        """The number of the search that is refused."""

    async def search(self) -> list[Bss]:
        self.searches += 1
        if self.searches == self.refused_search:
            raise ScanRefused("each request was refused")
        return [point for point in self.points if point.bssid not in self.missed.get(self.searches, ())]


class AttemptOnAir(Attempt):
    """It chooses among the access points on the air."""

    def __init__(
        self,
        air: Air,
        device: int = 1,
        *,
        passphrase: Passphrase = PASSPHRASE,
        sightings: Sequence[str] = (),
        others: Mapping[str, DeviceId] | None = None,
        answers: Mapping[str, Exception | Joined[LinkReading]] | None = None,
        within_s: float = 30.0,
    ) -> None:
        """`answers` are those to this device, where they differ."""
        super().__init__(within_s=within_s)
        self._request = JoinRequest(
            DeviceId(device),
            "wlan0",
            Ssid(b"CAM"),
            passphrase,
            within_s,
            tuple(Sighting(bssid, 2412) for bssid in sightings),
            others or {},
        )
        self._users = air.users
        self.air = air
        self.answers = answers or air.answers
        self.tried: list[str] = []
        self.management: list[KeyManagement] = []
        air.running.append(self)

    def is_at(self, bssid: str) -> BssidLimit:
        """Have it chosen this access point; its limit follows the camera."""
        self._limit = limit = BssidLimit("wlan1", bssid, self._move, self._choice)
        return limit

    async def _join(self) -> Joined[LinkReading]:
        points = await self._found(self.air.search())
        limit, management = await self._choose(self.air.supplicant, points)
        self.management.append(management)
        self.tried.append(limit.bssid)
        await asyncio.sleep(0)  # the others begin meanwhile
        answer = self.answers[limit.bssid]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _verdict_at_deadline(self) -> WifimgrdError:
        return self._not_chosen_in_time()


async def failure_of(attempt: SupplicantAttempt[Joined[LinkReading]]) -> WifimgrdError:
    with pytest.raises(WifimgrdError) as caught:
        await attempt.run()
    return caught.value


@pytest.mark.parametrize("refusal", [WRONG, FULL])
async def test_an_access_point_that_refuses_is_followed_by_the_next(refusal: WifimgrdError) -> None:
    attempt = AttemptOnAir(Air({A: refusal, B: JOINED, C: JOINED}))
    assert await attempt.run() is JOINED
    assert (attempt.tried, attempt.bssid, attempt.clean_ups) == ([A, B], B, 1)


async def test_where_all_refuse_the_password_it_is_wrong_and_each_is_named() -> None:
    error = await failure_of(AttemptOnAir(Air({A: WRONG, B: WRONG})))
    assert isinstance(error, AuthenticationFailed)
    assert error.message == (
        f"wrong; access points with this name: {A} refused the password, {B} refused the password"
    )


@pytest.mark.parametrize("missed", [[A, B], [B]])
async def test_one_that_the_search_after_a_refusal_misses_is_tried_all_the_same(
    missed: Sequence[str],
) -> None:
    air = Air({A: WRONG, B: JOINED})
    air.missed = {2: missed}
    attempt = AttemptOnAir(air)
    assert await attempt.run() is JOINED
    assert attempt.tried == [A, B]


async def test_the_next_is_tried_also_where_the_search_after_a_refusal_is_refused() -> None:
    air = Air({A: WRONG, B: JOINED})
    air.refused_search = 2
    assert await AttemptOnAir(air).run() is JOINED


async def test_where_the_first_search_is_refused_the_backend_is_not_available() -> None:
    air = Air({A: JOINED})
    air.refused_search = 1
    assert isinstance(await failure_of(AttemptOnAir(air)), BackendUnavailable)


@pytest.mark.parametrize("missed", [[A, B], [B]])
async def test_one_that_the_search_after_a_lost_handshake_misses_is_tried_again(
    missed: Sequence[str],
) -> None:
    air = Air({A: HandshakeLost("lost"), B: JOINED})
    air.missed = {2: missed}
    attempt = AttemptOnAir(air)
    assert (await failure_of(attempt)).message == "lost"
    assert attempt.tried == [A, A]


async def test_what_the_first_search_does_not_find_is_not_reachable() -> None:
    air = Air({A: JOINED})
    air.missed = {1: [A]}
    assert isinstance(await failure_of(AttemptOnAir(air)), DeviceNotReachable)


@pytest.mark.parametrize("answers", [{A: WRONG, B: FULL}, {A: FULL, B: WRONG}])
async def test_a_password_that_one_has_not_checked_is_not_wrong(answers: dict[str, Exception]) -> None:
    error = await failure_of(AttemptOnAir(Air(answers)))
    assert isinstance(error, AssociationRefused)
    assert f"{A} refused the" in error.message
    assert f"{B} refused the" in error.message


async def test_the_only_access_point_is_not_named() -> None:
    assert (await failure_of(AttemptOnAir(Air({A: WRONG})))).message == "wrong"


async def test_one_that_does_not_answer_is_not_followed() -> None:
    attempt = AttemptOnAir(Air({A: SILENT, B: JOINED}))
    assert (await failure_of(attempt)).message == "silent"
    assert attempt.tried == [A]


async def test_one_in_use_by_another_device_is_named_where_it_refuses() -> None:
    air = Air({A: FULL})
    air.in_use[A] = DeviceId(2)
    error = await failure_of(AttemptOnAir(air))
    assert error.message.endswith(f"{A} refused the connection and is in use by camera 2")


async def test_two_attempts_that_begin_at_once_join_two_access_points() -> None:
    air = Air({A: JOINED, B: JOINED})
    first, second = AttemptOnAir(air, 1), AttemptOnAir(air, 2)
    await asyncio.gather(first.run(), second.run())
    assert sorted([first.bssid, second.bssid]) == [A, B]


async def test_attempts_that_begin_at_each_others_cameras_end_at_their_own() -> None:
    air = Air({A: JOINED, B: JOINED})
    first = AttemptOnAir(air, 1, answers={A: WRONG, B: JOINED})
    second = AttemptOnAir(air, 2, answers={A: JOINED, B: WRONG})
    async with asyncio.timeout(10):
        await asyncio.gather(first.run(), second.run())
    assert (first.tried, second.tried) == ([A, B], [B, A])


@pytest.fixture
async def crossed() -> tuple[Air, AttemptOnAir, asyncio.Event]:
    """An attempt that A refuses, while another device's is at B; the event is that it waits for that."""
    air, waits = Air({A: WRONG, B: JOINED}), asyncio.Event()
    AttemptOnAir(air, 2).is_at(B)
    next_leave = air.users.next_leave

    async def wait() -> None:
        waits.set()
        await next_leave()

    air.users.next_leave = wait  # type: ignore[method-assign]
    return air, AttemptOnAir(air), waits


async def test_an_access_point_that_the_other_attempt_has_joined_is_not_waited_for(
    crossed: tuple[Air, AttemptOnAir, asyncio.Event],
) -> None:
    air, attempt, waits = crossed
    failing = asyncio.create_task(failure_of(attempt))
    async with asyncio.timeout(10):
        await waits.wait()
        del air.running[0]
        air.in_use[B] = DeviceId(2)
        air.users.leave()
        error = await failing
    assert isinstance(error, AuthenticationFailed)
    assert error.message.endswith(f"{A} refused the password, {B} is in use by camera 2")


async def test_an_access_point_that_the_other_attempt_exchanges_for_another_is_joined(
    crossed: tuple[Air, AttemptOnAir, asyncio.Event],
) -> None:
    air, attempt, waits = crossed
    [other, _] = air.running

    async def limit_networks(*_: str) -> None:
        await asyncio.sleep(0)

    other.limit_networks = limit_networks
    joining = asyncio.create_task(attempt.run())
    async with asyncio.timeout(10):
        await waits.wait()
        assert await other.is_at(B).follow([point(C)])
        assert await joining is JOINED
    assert attempt.tried == [A, B]


@pytest.mark.parametrize(("sightings", "code"), [([], AuthenticationFailed), ([C], DeviceNotReachable)])
async def test_an_access_point_is_waited_for_until_the_deadline(
    crossed: tuple[Air, AttemptOnAir, asyncio.Event], sightings: list[str], code: type[WifimgrdError]
) -> None:
    """It is waited for also where the first search has found nothing else: the own camera's address may have
    changed."""
    air, _, _ = crossed
    if sightings:
        air.points = [point(B)]
    error = await failure_of(AttemptOnAir(air, sightings=sightings, within_s=0.05))
    assert isinstance(error, code)
    assert f"{B} is being tried by camera 2" in error.message


async def test_a_camera_that_is_off_is_not_replaced_by_one_in_use() -> None:
    air = Air({A: JOINED})
    air.in_use[A] = DeviceId(2)
    error = await failure_of(AttemptOnAir(air, sightings=[B]))
    assert isinstance(error, DeviceNotReachable)
    assert error.message.endswith(f"{A} is in use by camera 2")


async def test_a_camera_that_is_off_is_not_replaced_by_another_devices() -> None:
    attempt = AttemptOnAir(Air({A: JOINED}), sightings=[B], others={A: DeviceId(2)})
    assert f"{A} was last used by camera 2" in (await failure_of(attempt)).message


async def test_an_open_encrypted_network_is_joined_by_owe() -> None:
    attempt = AttemptOnAir(Air({A: JOINED}, "owe", SupplicantOfSome("owe")), passphrase=OPEN)
    assert await attempt.run() is JOINED
    assert attempt.management == [KeyManagement.OWE]


@pytest.mark.parametrize(
    ("suite", "passphrase", "words"), [("owe", OPEN, "Enhanced Open (OWE)"), ("sae", PASSPHRASE, "WPA3")]
)
async def test_what_the_adapter_does_not_support_is_named(
    suite: str, passphrase: Passphrase, words: str
) -> None:
    error = await failure_of(AttemptOnAir(Air({A: JOINED}, suite), passphrase=passphrase))
    assert isinstance(error, AssociationRefused)
    assert "wlan0" in error.message
    assert words in error.message


async def test_another_kind_of_security_is_named() -> None:
    attempt = AttemptOnAir(Air({A: JOINED}, "wpa-eap"))
    assert "certificate" in (await failure_of(attempt)).message


@pytest.mark.parametrize("suite", ["", "wpa-eap"])
async def test_a_camera_that_is_off_has_not_refused_the_password_where_another_network_has_its_name(
    suite: str,
) -> None:
    assert isinstance(
        await failure_of(AttemptOnAir(Air({A: JOINED}, suite), sightings=[B])), DeviceNotReachable
    )
    error = await failure_of(AttemptOnAir(Air({A: JOINED}, suite), sightings=[A]))
    assert isinstance(error, AssociationRefused if suite else AuthenticationFailed)


@pytest.mark.parametrize("error", [WRONG, HandshakeLost("lost")])
async def test_an_attempt_that_is_aborted_during_its_clean_up_does_not_join_again(
    error: WifimgrdError,
) -> None:
    class AbortedMeanwhile(AttemptOnAir):
        async def _clean_up(self) -> None:
            self.abort(InterfaceLost("it was unplugged"))

    attempt = AbortedMeanwhile(Air({A: error, B: JOINED}))
    with pytest.raises(InterfaceLost, match="unplugged"):
        await attempt.run()
    assert attempt.tried == [A]
