"""The part of an attempt to join a network that does not depend on who configures the link."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import ClassVar, Generic, Protocol, TypeVar

import structlog

from wifimgrd.backends.lease_check import LeaseCheck, LinkReading
from wifimgrd.dbus.connection import BusClosed, BusError
from wifimgrd.domain.errors import BackendUnavailable, DeviceNotReachable, WifimgrdError
from wifimgrd.ports import JoinRequest
from wifimgrd.wpa_supplicant import diagnosis
from wifimgrd.wpa_supplicant.bss import Bss
from wifimgrd.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.wpa_supplicant.scan_queue import ScanRefused

_log = structlog.get_logger(__name__)

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


class BaseAttempt(ABC, Generic[J]):
    """The steps of one join. Call `run` once, and `abort` to end it early with an error."""

    NO_REPLY: ClassVar[str]
    """The reason where one of the services does not reply."""

    def __init__(self, request: JoinRequest, deadline: float, check: LeaseCheck) -> None:
        """`deadline` is in loop time."""
        self._request = request
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

    async def run(self) -> J:
        """Bring the link up. Raises the errors of Backend.join; then nothing of the attempt is left."""
        try:
            return await self._run_once()
        except diagnosis.HandshakeLost:
            if self._abort_cause:
                raise self._abort_cause from None
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
        """The network's access points; raises DeviceNotReachable where there is none."""
        try:
            points = await locating
        except ScanRefused:
            raise BackendUnavailable(f"wpa_supplicant does not scan on {self._request.interface}") from None
        if not points:
            raise diagnosis.not_seen(self._ssid)
        return points

    def _not_found_in_time(self) -> WifimgrdError:
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
