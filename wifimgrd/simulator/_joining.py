"""One attempt to join a simulated camera: scan, association, address, and the failures of each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NoReturn

from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.errors import (
    AddressFailed,
    AssociationRefused,
    AuthenticationFailed,
    DeviceNotReachable,
    WifimgrdError,
)
from wifimgrd.simulator._camera import Camera
from wifimgrd.simulator._faults import Faults
from wifimgrd.simulator._listening import is_in_reach
from wifimgrd.simulator._scenario import AdapterPlan, Security, Times


class Attempt:
    """Call `run` once; `end` makes it fail at once."""

    def __init__(
        self,
        request: JoinRequest,
        adapter: AdapterPlan,
        cameras: Mapping[bytes, Camera],
        faults: Faults,
        times: Times,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._request = request
        self._adapter = adapter
        self._cameras = cameras
        self._faults = faults
        self._times = times
        self._deadline = loop.time() + request.timeout_s
        self._ended: asyncio.Future[WifimgrdError] = loop.create_future()

    def end(self, error: WifimgrdError) -> None:
        """Make the attempt fail with `error`."""
        if not self._ended.done():
            self._ended.set_result(error)

    async def run(self) -> Camera:
        """Return the camera that was joined; raises as Backend.join does."""
        camera = await self._search()
        await self._associate(camera)
        await self._request_address(camera)
        return camera

    async def _search(self) -> Camera:
        name = self._request.interface
        if self._faults.scan_fails.get(name):
            await self._pause(self._times.scan_s)
            raise DeviceNotReachable(f"{name} could not search for {self._label}: its scans fail")
        camera = self._receivable_camera()
        unseen = camera is None or (camera.plan.hidden and not self._request.sightings)
        if unseen:
            await self._pause(self._times.scan_s)
            camera = self._receivable_camera()
        return camera or self._absent()

    async def _associate(self, camera: Camera) -> None:
        plan = camera.plan
        slow = self._faults.join_s.get(plan.ssid.data)
        own = self._times.join_s if plan.join_s is None else plan.join_s
        in_time = await self._pause(own if slow is None else slow)
        if not camera.powered:
            self._absent()
        if not in_time:
            raise DeviceNotReachable(f"{self._label} did not answer in {self._request.timeout_s:g} s")
        if self._faults.refuses(camera):
            raise AssociationRefused(
                f"{self._label} refused the connection: another phone or host may hold it"
            )
        if plan.passphrase != self._request.passphrase:
            raise AuthenticationFailed(
                _mismatch(self._label, plan.security, self._request.passphrase.is_open)
            )

    async def _request_address(self, camera: Camera) -> None:
        if not self._faults.withholds_address(camera):
            return
        await self._pause(self._times.dhcp_s)
        if not camera.powered:
            self._absent()
        if self._faults.withholds_address(camera):
            raise AddressFailed(f"{self._label} was joined, but gave no IP address")

    def _receivable_camera(self) -> Camera | None:
        """The camera, where it is on and the adapter can receive it."""
        if self._faults.is_deaf(self._request.interface):
            return None
        camera = self._cameras.get(self._request.ssid.data)
        if camera is None or not camera.powered:
            return None
        return camera if is_in_reach(self._adapter, camera.plan) else None

    def _absent(self) -> NoReturn:
        raise DeviceNotReachable(
            f"the network {self._label} was not seen: the camera is powered off or out of range"
        )

    @property
    def _label(self) -> str:
        return self._request.ssid.printable

    async def _pause(self, seconds: float) -> bool:
        """Sleep, at most until the attempt's deadline; False where that came first.

        Raises the error that `end` was called with.
        """
        left = max(0.0, self._deadline - asyncio.get_running_loop().time())
        await asyncio.wait((self._ended,), timeout=min(seconds, left))
        if self._ended.done():
            raise self._ended.result()
        return seconds <= left


def _mismatch(label: str, security: Security, is_open: bool) -> str:
    if security is Security.OPEN:
        return f"{label} is an open network, but a password is set for it"
    if is_open:
        return f"{label} asks for a password, but none is set"
    return f"{label} refused the password"
