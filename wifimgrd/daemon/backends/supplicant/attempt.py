"""The part of an attempt to join a network that does not depend on who configures the link."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from typing import ClassVar, Final, Generic, Protocol, TypeVar

import structlog

from wifimgrd.bus.connection import BusClosed, BusError
from wifimgrd.daemon.backends.supplicant import diagnosis
from wifimgrd.daemon.backends.supplicant.bss_choice import BssChoice, Rank
from wifimgrd.daemon.backends.supplicant.bss_users import BssUsers
from wifimgrd.daemon.backends.supplicant.bssid_limit import BssidLimit, LimitNetworks
from wifimgrd.daemon.backends.supplicant.lease_check import LeaseCheck, LinkReading
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import (
    AssociationRefused,
    AuthenticationFailed,
    BackendUnavailable,
    DeviceNotReachable,
    WifimgrdError,
    error_of,
)
from wifimgrd.proxies.networkmanager.definitions import NM
from wifimgrd.proxies.wpa_supplicant.bss import Bss, KeyManagement, key_management, misfit
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.proxies.wpa_supplicant.scan_queue import ScanRefused
from wifimgrd.wire.names import ERROR_PREFIX

_log = structlog.get_logger(__name__)

_SUITES: Final = {KeyManagement.SAE: ("sae", "WPA3"), KeyManagement.OWE: ("owe", "Enhanced Open (OWE)")}
"""The suites that not every adapter supports: wpa_supplicant's name, and the usual one."""

_SERVICES: Final = {WPAS: "wpa_supplicant", NM: "NetworkManager", ERROR_PREFIX: "wifimgrd-net"}
"""Who refuses, by the beginning of the error's name."""

R_co = TypeVar("R_co", bound=LinkReading, covariant=True)


class Joined(Protocol[R_co]):
    """A link that has just come up."""

    @property
    def supplicant(self) -> SupplicantInterface:
        """wpa_supplicant's object of its interface."""

    @property
    def reading(self) -> R_co:
        """Its data."""

    @property
    def bssid(self) -> str:
        """The only access point that the supplicant is configured to join; empty = any with the SSID."""


J = TypeVar("J", bound=Joined[LinkReading])


def refused_by(error: BusError) -> str:
    """Who has refused a call, as the subject of a sentence."""
    return next((name for start, name in _SERVICES.items() if error.name.startswith(start)), "the system")


class SupplicantAttempt(ABC, Generic[J]):
    """The steps of one join. Call `run` once, and `abort` to end it early with an error."""

    NO_REPLY: ClassVar[str]
    """The reason where one of the services does not reply."""

    def __init__(self, request: JoinRequest, deadline: float, check: LeaseCheck, users: BssUsers) -> None:
        """`deadline` is in loop time."""
        self._request = request
        self._users = users
        self.limit_networks: LimitNetworks | None = None
        """Changes the access point that is joined, where the camera has another one meanwhile."""
        self._limit: BssidLimit | None = None
        """The access point that is joined; None while none is chosen."""
        self._points: Sequence[Bss] = ()
        """The network's access points that the searches of this attempt have found."""
        self._failures: dict[str, WifimgrdError] = {}
        """Why access points were not joined, by their BSSIDs, in this order."""
        self._ssid = request.ssid
        self._deadline = deadline
        self._check = check
        self._body: asyncio.Task[J] | None = None
        self._abort_cause: WifimgrdError | None = None
        self._log = _log.bind(device=request.device_id, interface=request.interface)

    def abort(self, cause: WifimgrdError) -> None:
        """End the attempt; `run` raises this error after it has cleaned up."""
        if self._body and not self._abort_cause:
            self._abort_cause = cause
            self._body.cancel()

    @property
    def device_id(self) -> DeviceId:
        """The device that it is for."""
        return self._request.device_id

    @property
    def bssid(self) -> str:
        """The access point that is being joined; empty while none is chosen."""
        return self._limit.bssid if self._limit else ""

    async def run(self) -> J:
        """Bring the link up. Raises the errors of Backend.join; then nothing of the attempt is left.

        An access point that refuses the station or its password is followed by the next one, and left at
        once: the attempt of another device may wait for it, as this one waits where it has none left but
        theirs.
        """
        while True:
            try:
                return await self._run_with_repeat()
            except (AuthenticationFailed, AssociationRefused, DeviceNotReachable) as error:
                if self._abort_cause:  # during the clean-up
                    raise self._abort_cause from None
                if not self.bssid and not self._failures:
                    raise
                if self.bssid:
                    self._failures[self.bssid] = error
                    if not isinstance(error, DeviceNotReachable) and self._has_another():
                        self._log.info("access_point_refused", bssid=self.bssid, code=error.code.value)
                        self._limit = None
                        self._users.leave()
                        continue
                raise self._final() from None

    def _has_another(self) -> bool:
        """Whether another access point is left, perhaps once another device's attempt has left it."""
        choice = self._choice()
        return bool(choice.candidates(self._points)) or choice.has_to_wait(self._points)

    def _final(self) -> WifimgrdError:
        """The failure of all access points: a password is wrong only where each of them has refused it."""
        failures = list(self._failures.values())
        others = [one for one in failures if not isinstance(one, AuthenticationFailed)]
        final = (others or failures)[-1]
        choice = self._choice()
        shared = any(choice.rank(bssid) >= Rank.ATTEMPTED for bssid in self._failures)
        fitting = [point for point in self._points if choice.fits(point)]
        described = choice.describe(fitting)
        if not described or (len(fitting) == 1 and not shared):
            return final
        return error_of(final.code, f"{final.message}; access points with this name: {described}")

    async def _run_with_repeat(self) -> J:
        """Join one access point; once more where the handshake with it was lost."""
        try:
            return await self._run_once()
        except diagnosis.HandshakeLost as error:
            if self._abort_cause or asyncio.get_running_loop().time() >= self._deadline:
                raise DeviceNotReachable(error.message) from None
            self._log.info("handshake_lost")
        try:
            return await self._run_once()
        except diagnosis.HandshakeLost as error:
            raise DeviceNotReachable(error.message) from None

    async def _run_once(self) -> J:
        self._body = asyncio.get_running_loop().create_task(self._join_until_deadline())
        try:
            return await self._body
        except BaseException as error:  # noqa: BLE001 - cancellation, too, leaves nothing behind
            await self._clean_up()
            raise self._cause_of(error) from None

    async def _join_until_deadline(self) -> J:
        try:
            async with asyncio.timeout_at(self._deadline) as limit:
                return await self._join()
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._verdict_at_deadline() from None

    def _cause_of(self, error: BaseException) -> BaseException:
        if isinstance(error, asyncio.CancelledError) and self._abort_cause:
            return self._abort_cause
        if isinstance(error, BusError):
            return self._refusal(error)
        if isinstance(error, BusClosed):
            return BackendUnavailable("the connection to the message bus was lost")
        if isinstance(error, TimeoutError):
            return BackendUnavailable(self.NO_REPLY)
        return error

    async def _found(self, locating: Awaitable[list[Bss]]) -> list[Bss]:
        """The network's access points; raises DeviceNotReachable where there is none.

        A single scan can miss one, as just after an association has ended. So those count, too, that an
        earlier search of this attempt has found: whoever joins one scans again.
        """
        try:
            points = await locating
        except ScanRefused:
            if not self._points:
                raise BackendUnavailable(
                    f"wpa_supplicant does not scan on {self._request.interface}"
                ) from None
            points = []
        found = {point.bssid: point for point in (*self._points, *points)}
        if not found:
            raise diagnosis.not_seen(self._ssid)
        return [*found.values()]

    def _choice(self) -> BssChoice:
        """The known facts about the network's access points now."""
        refusals = {
            bssid: "password" if isinstance(error, AuthenticationFailed) else "connection"
            for bssid, error in self._failures.items()
            if not isinstance(error, DeviceNotReachable)
        }
        request = self._request
        return BssChoice(
            request.sightings,
            request.others,
            self._users.links(request.device_id),
            refusals,
            has_password=not request.passphrase.is_open,
            attempted=self._users.attempts(request.device_id),
        )

    async def _choose(
        self, supplicant: SupplicantInterface, points: Sequence[Bss]
    ) -> tuple[BssidLimit, KeyManagement]:
        """Choose the access point to join, and how; waits while attempts of other devices are at all that is
        left. Nothing is awaited between the choice and the limit, so that no other attempt chooses the same
        one. Raises DeviceNotReachable, AuthenticationFailed, AssociationRefused."""
        self._points = points
        while (choice := self._choice()).has_to_wait(points):
            self._log.debug("access_point_awaited", points=choice.describe(points))
            await self._users.next_leave()
        candidates = choice.candidates(points)
        if not candidates:
            raise self._none_fits(choice)
        bssid, has_password = candidates[0].bssid, not self._request.passphrase.is_open
        move = self._move if self.limit_networks else None
        self._limit = limit = BssidLimit(self._request.interface, bssid, move, self._choice)
        self._log.debug("access_point_chosen", bssid=bssid, rank=choice.rank(bssid).name, of=len(points))
        management = key_management(candidates[0], has_password) or KeyManagement.NONE
        if management in _SUITES:
            suite, name = _SUITES[management]
            if not await supplicant.supports(suite):
                raise diagnosis.unsupported(self._ssid, self._request.interface, name)
        return limit, management

    async def _move(self, interface: str, bssid: str) -> None:
        """Have another access point joined; the one before is free then."""
        assert self.limit_networks is not None  # noqa: S101 - for the type checker
        await self.limit_networks(interface, bssid)
        self._users.leave()

    def _none_fits(self, choice: BssChoice) -> WifimgrdError:
        """Why none of the access points is joined."""
        if any(choice.fits(point) for point in self._points):
            return diagnosis.only_others(self._ssid, choice.describe(self._points))
        known = {seen.bssid for seen in choice.sightings}
        if known and known.isdisjoint(point.bssid for point in self._points):
            return diagnosis.only_others(self._ssid, "another network has its name, with other security")
        return misfit(self._points, self._ssid)

    def _not_chosen_in_time(self) -> WifimgrdError:
        """Why no access point was chosen by the deadline."""
        if (choice := self._choice()).has_to_wait(self._points):
            return self._none_fits(choice)
        seconds = f"{self._request.timeout_s:g}"
        return DeviceNotReachable(f'the network "{self._ssid.printable}" was not found within {seconds} s')

    @abstractmethod
    async def _join(self) -> J:
        """Join once; raises the cause where that fails."""

    @abstractmethod
    async def _clean_up(self) -> None:
        """Undo a join that has failed, so that another one can begin."""

    @abstractmethod
    def _verdict_at_deadline(self) -> WifimgrdError:
        """Why there is no link at the deadline."""

    @abstractmethod
    def _refusal(self, error: BusError) -> WifimgrdError:
        """The cause of an error that a service has replied with."""
