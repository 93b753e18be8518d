"""Wakes cameras over Bluetooth, within an attempt to connect or without one; knows which sleep."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from wifimgrd.daemon.manager._bonds import Bonds
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._lookout import Lookout
from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import Backend, CameraBluetooth
from wifimgrd.domain import sentences
from wifimgrd.domain.camera_model import CameraModel
from wifimgrd.domain.device import ConnectionPhase, DeviceId, Link, PowerState
from wifimgrd.domain.errors import (
    AssociationRefused,
    BluetoothUnavailable,
    Busy,
    CameraBusy,
    Cancelled,
    DeviceNotReachable,
    NotPaired,
    NotSupported,
    WakeFailed,
    WifimgrdError,
)
from wifimgrd.domain.events import BluetoothChanged, DeviceUpdated, PowerChanged, WakeEnded
from wifimgrd.domain.power import (
    CALLED,
    CONNECTING,
    SEEN_S,
    Advertiser,
    BluetoothState,
    BluetoothStatus,
    Sight,
    WakeRequest,
    Wakes,
    is_device,
    power_state_of,
    wake_request,
)
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_LOOK_S: Final = 15.0
"""The time limit of one look for the network on the air; one at all channels takes some 10 s."""
_APPEARS_S: Final = 20.0
"""How long the network of a camera that is awake is looked for before it is joined all the same."""
_ASLEEP_AFTER_S: Final = 5.0
"""After so much of an attempt without a link, Bluetooth is asked whether the camera sleeps."""
_ASLEEP_SEARCH_S: Final = 5
_ASLEEP_LIMIT_S: Final = 10.0
"""The same with the start of the camera process."""
_HEARD_KEPT: Final = 256
"""How many advertisers are remembered."""


class Waking:
    """Follows the cameras over Bluetooth, and wakes them."""

    def __init__(
        self, state: HubState, backend: Backend, bluetooth: CameraBluetooth, bonds: Bonds, tasks: Tasks
    ) -> None:
        self._state = state
        self._backend = backend
        self._bluetooth = bluetooth
        self._bonds = bonds
        self._tasks = tasks
        self.heard: dict[str, Advertiser] = {}
        """The cameras that were heard lately, by their addresses, the latest one last."""
        self._forgetting: dict[str, asyncio.TimerHandle] = {}
        self._wanted: list[tuple[str, asyncio.Future[Advertiser]]] = []
        """The addresses that are looked for, and who waits for them."""
        self.bluetooth_ready = Notice[None]()
        """Bluetooth has become ready."""
        self.unfit_met = Notice[tuple[str, str]]()
        """A bonded camera, by its address, is more than a camera: why."""

    # -- what Bluetooth reports

    def bluetooth_changed(self, status: BluetoothStatus) -> None:
        """Bluetooth became ready or unavailable."""
        _log.info("bluetooth_changed", state=status.state, reason=status.reason)
        self._state.publish(BluetoothChanged(status))
        if status.state is BluetoothState.READY:
            self.bluetooth_ready.notify(None)

    def camera_unfit(self, address: str, reason: str) -> None:
        """A bonded camera is more than a camera."""
        self.unfit_met.notify((address, reason))

    def bonding(self, address: str, adapter: str) -> None:
        """A bond with a camera is made now."""
        self._bonds.bonding(address, adapter)

    def advertised(self, seen: Sequence[Advertiser]) -> None:
        """Cameras were heard."""
        for one in seen:
            self._hear(one)
            for entry in list(self._entries_of(one)):
                self.saw(entry, power_state_of(self._state.model(entry.device), one))

    def _hear(self, one: Advertiser) -> None:
        self._forget(one.address)
        self.heard[one.address] = one
        for address, found in self._wanted:
            if address == one.address and not found.done():
                found.set_result(one)
        loop = asyncio.get_running_loop()
        self._forgetting[one.address] = loop.call_later(SEEN_S, self._forget, one.address)
        if len(self.heard) > _HEARD_KEPT:
            self._forget(next(iter(self.heard)))

    def _forget(self, address: str) -> None:
        self.heard.pop(address, None)
        if (timer := self._forgetting.pop(address, None)) is not None:
            timer.cancel()

    def saw(self, entry: DeviceEntry, power_state: PowerState | None) -> None:
        """A camera was seen, or is known to have changed."""
        if entry.sleep.expiry is not None:
            entry.sleep.expiry.cancel()
        loop = asyncio.get_running_loop()
        entry.sleep.expiry = loop.call_later(SEEN_S, self._expire, entry)
        self._set_sight(entry, Sight(power_state, self._state.clock()))

    def connected(self, entry: DeviceEntry) -> None:
        """A device is connected: its camera does not sleep, and Wi-Fi keeps it awake."""
        if entry.sleep.sight.state is PowerState.ASLEEP:
            self.saw(entry, PowerState.AWAKE)
        if entry.device.bluetooth_address:
            self._release(entry.device.bluetooth_address)

    @staticmethod
    def paired(entry: DeviceEntry) -> None:
        """The camera of a device was paired, and has switched its access point on."""
        entry.sleep.appears_by_s = asyncio.get_running_loop().time() + _APPEARS_S

    def link_over(self, entry: DeviceEntry) -> None:
        """A link, or an attempt at one, ends by a command or has ended by itself: it no longer keeps the
        camera awake, and one that was awake may fall asleep."""
        if entry.sleep.sight.state is PowerState.AWAKE:
            self.forget(entry)
            self._set_sight(entry, Sight(None, entry.sleep.sight.seen_us))

    async def failed(self, entry: DeviceEntry, error: WifimgrdError) -> None:
        """A camera was not reached over Bluetooth. Whatever the reason, the next command tries again."""
        if isinstance(error, Cancelled):
            return
        self._set_wakes(entry, entry.sleep.wakes.failed(asyncio.get_running_loop().time()))
        if isinstance(error, NotPaired) and entry.device.bluetooth_address:
            await self.read_bond(entry)

    async def read_bond(self, entry: DeviceEntry) -> None:
        """Find out whether this host has a bond with a device's camera, if that can be."""
        with suppress(WifimgrdError):
            is_bonded = await self._bonds.has_bond(entry.device.bluetooth_address)
            self._set_wakes(entry, replace(entry.sleep.wakes, is_bonded=is_bonded))

    def answered(self, entry: DeviceEntry) -> None:
        """A camera was reached over Bluetooth."""
        self._set_wakes(entry, entry.sleep.wakes.answered())

    @staticmethod
    def forget_wakes(entry: DeviceEntry) -> None:
        """It is another camera, or is paired anew: the caller publishes that."""
        entry.sleep.wakes = Wakes()

    def _set_wakes(self, entry: DeviceEntry, wakes: Wakes) -> None:
        before, entry.sleep.wakes = entry.sleep.wakes, wakes
        if before.is_bonded != wakes.is_bonded:
            self._state.publish(DeviceUpdated(self._state.status(entry)))

    def _release(self, key: str) -> None:
        """Stop keeping a woken or paired camera awake over Bluetooth."""
        self._tasks.start("release", self._bluetooth.release(key), expected=(WifimgrdError,))

    def _expire(self, entry: DeviceEntry) -> None:
        """It was not seen for some time: whether it sleeps is no longer known."""
        entry.sleep.expiry = None
        if self._state.entries.get(entry.device.id) is entry:
            self._set_sight(entry, Sight(None, entry.sleep.sight.seen_us))

    def _set_sight(self, entry: DeviceEntry, sight: Sight) -> None:
        entry.sleep.sight = sight
        if sight.differs(entry.sleep.published):
            entry.sleep.published = sight
            self._state.publish(PowerChanged(self._state.status(entry)))

    def device_of(self, seen: Advertiser) -> DeviceId | None:
        """The registered device that an advertiser is, or None."""
        return next((entry.device.id for entry in self._entries_of(seen)), None)

    def _entries_of(self, seen: Advertiser) -> Iterator[DeviceEntry]:
        """The registered devices that an advertiser may be: several that were registered with one name."""
        for entry in self._state.entries.values():
            device = entry.device
            if is_device(self._state.model(device), device.ssid, device.bluetooth_address, seen):
                yield entry

    # -- searches

    async def search(self, seconds: int, models: Iterable[CameraModel]) -> None:
        """Search for cameras of some models; raises BluetoothUnavailable, Busy."""
        await self.require_bluetooth()
        targets = {
            (one.bluetooth.service, one.bluetooth.name_pattern) for one in models if one.bluetooth is not None
        }
        await self._bluetooth.search(seconds, sorted(targets))

    async def find(self, address: str, seconds: int, models: Iterable[CameraModel]) -> Advertiser | None:
        """The camera with an address, as soon as it is heard from now on; None if a search did not hear it.

        Raises BluetoothUnavailable, Busy.
        """
        found: asyncio.Future[Advertiser] = asyncio.get_running_loop().create_future()
        wanted = (address, found)
        self._wanted.append(wanted)
        searching = self._tasks.start("find", self.search(seconds, models), expected=(WifimgrdError,))
        try:
            await asyncio.wait((searching, found), return_when=asyncio.FIRST_COMPLETED)
            if found.done():
                return found.result()
            await searching
            return None
        finally:
            self._wanted.remove(wanted)
            searching.cancel()

    async def require_bluetooth(self) -> None:
        """Raise BluetoothUnavailable unless this host can find and wake cameras."""
        if self._bluetooth.status.state is not BluetoothState.READY:
            await self._bluetooth.look_again()
        status = self._bluetooth.status
        if status.state is not BluetoothState.READY:
            raise BluetoothUnavailable(status.reason or "Bluetooth is not available")

    # -- waking

    def may_wake(self, entry: DeviceEntry, *, is_commanded: bool) -> bool:
        """Whether an attempt may wake a camera now that nobody has asked to be woken; `is_commanded`: the
        attempt is a client's."""
        return (
            entry.device.auto_wake
            and self._bluetooth.status.state is BluetoothState.READY
            and entry.sleep.wakes.may_begin(asyncio.get_running_loop().time(), is_commanded=is_commanded)
            and self._possible(entry) is not None
        )

    def request(self, entry: DeviceEntry) -> WakeRequest:
        """How a camera is woken; raises NotSupported, NotPaired."""
        device = entry.device
        return wake_request(
            self._state.model(device), device.ssid, device.bluetooth_address, f"device-{device.id}"
        )

    def _possible(self, entry: DeviceEntry) -> WakeRequest | None:
        with suppress(NotSupported, NotPaired):
            return self.request(entry)
        return None

    def ask(self, entry: DeviceEntry, *, wake: bool) -> None:
        """Whether the next attempt is to wake the camera if its network is not on the air."""
        entry.sleep.is_asked = wake

    async def join(self, entry: DeviceEntry, interface: str, join: Callable[[], Awaitable[Link]]) -> Link:
        """Have an attempt join, and wake the camera if its network is not on the air and that is wanted:
        before that, or after it if the camera has fallen asleep meanwhile.

        Raises the errors of a wake, and what `join` does.
        """
        asked, entry.sleep.is_asked = entry.sleep.is_asked, False
        request = None
        if asked:
            request = self.request(entry)
            await self.require_bluetooth()
        elif self.may_wake(entry, is_commanded=entry.work.is_commanded):
            request = self._possible(entry)
        lookout = Lookout(partial(self._is_visible, entry, interface))
        wake_s = 0.0 if request is None else request.timeout_s
        end_s = asyncio.get_running_loop().time() + wake_s + self._state.settings.attempt_timeout_s
        is_asleep = entry.sleep.sight.state is PowerState.ASLEEP
        # A look at all channels takes seconds: it is for a camera that does not wake at once.
        if request is None or (not is_asleep and await lookout.look(all_channels=False)):
            rest_s = entry.sleep.appears_by_s - asyncio.get_running_loop().time()
            if request is None and rest_s > 0:
                await lookout.until_appeared(rest_s)
            entry.sleep.appears_by_s = 0.0
            try:
                async with self._told_asleep(entry):
                    return await join()
            except DeviceNotReachable as error:
                if request is None or await lookout.look(all_channels=False):
                    raise
                if not asked and not self.may_wake(entry, is_commanded=entry.work.is_commanded):
                    raise
                first = error
            try:
                async with asyncio.timeout_at(end_s):
                    return await self._wake_and_join(entry, request, lookout, join, end_s, is_asked=asked)
            except TimeoutError:
                raise first from None
        return await self._wake_and_join(entry, request, lookout, join, end_s, is_asked=asked)

    async def _wake_and_join(
        self,
        entry: DeviceEntry,
        request: WakeRequest,
        lookout: Lookout,
        join: Callable[[], Awaitable[Link]],
        end_s: float,
        *,
        is_asked: bool,
    ) -> Link:
        self._state.show_activity(entry, ConnectionPhase.WAKING)
        async with self.awake(entry, request, lookout):
            if not is_asked:
                entry.sleep.wakes = entry.sleep.wakes.woke(asyncio.get_running_loop().time())
            self._state.show_activity(entry, ConnectionPhase.JOINING)
            try:
                return await self._join_woken(entry, request, join, end_s)
            except DeviceNotReachable as error:
                raise WakeFailed(
                    f"the camera woke, but its network did not appear: {error.message}"
                ) from None

    async def _join_woken(
        self, entry: DeviceEntry, request: WakeRequest, join: Callable[[], Awaitable[Link]], end_s: float
    ) -> Link:
        """Join a camera that was woken, once more after its access point was switched off and on, if it does
        that and there is time until `end_s`: the maker's remedy for one that cannot be joined."""
        try:
            return await join()
        except (DeviceNotReachable, AssociationRefused) as error:
            if request.beacon:
                raise
            first = error
        try:
            async with asyncio.timeout_at(end_s):
                await self._bluetooth.restart_access_point(request.key, request.service)
                _log.info("access_point_restarted", device=entry.device.id, device_name=entry.device.name)
                return await join()
        except TimeoutError:
            raise first from None
        except (
            Busy,
            BluetoothUnavailable,
            CameraBusy,
            Cancelled,
            NotPaired,
            NotSupported,
            WakeFailed,
        ) as why:
            _log.debug("access_point_not_restarted", device=entry.device.id, reason=why.message)
            raise first from None

    @asynccontextmanager
    async def awake(self, entry: DeviceEntry, request: WakeRequest, lookout: Lookout) -> AsyncIterator[None]:
        """Wake a camera and keep it awake. A beacon is sent until its network is seen, or as long as that may
        take.

        Raises NotPaired, WakeFailed, BluetoothUnavailable.
        """
        _log.info("waking", device=entry.device.id, device_name=entry.device.name)
        waking = self._tasks.start("wake", self._bluetooth.wake(request), expected=(WifimgrdError,))
        try:
            try:
                async with asyncio.timeout(request.timeout_s):
                    await self._until_awake(request, waking, lookout)
            except TimeoutError:
                raise WakeFailed(lookout.why_not_awake(request)) from None
        except WifimgrdError as error:
            await self.failed(entry, error)
            _log.warning(
                "wake_failed",
                device=entry.device.id,
                device_name=entry.device.name,
                code=error.code,
                reason=error.message,
            )
            self._state.publish(WakeEnded(entry.device.id, error))
            raise
        finally:
            waking.cancel()
        _log.info("woken", device=entry.device.id, device_name=entry.device.name)
        self._state.publish(WakeEnded(entry.device.id, None))
        self.answered(entry)
        self.saw(entry, PowerState.AWAKE)
        try:
            yield
        finally:
            if not request.beacon:
                self._release(request.key)

    async def _until_awake(self, request: WakeRequest, waking: asyncio.Task[None], lookout: Lookout) -> None:
        looks = CALLED if request.beacon else CONNECTING
        if not request.beacon:
            await asyncio.wait((waking,), timeout=looks.pause_s)
        if not waking.done():
            seeing = self._tasks.start("look", lookout.until_seen(looks), expected=(WifimgrdError,))
            try:
                await asyncio.wait((waking, seeing), return_when=asyncio.FIRST_COMPLETED)
                if seeing.done():
                    await seeing  # raises its error
                    return
            finally:
                seeing.cancel()
                await asyncio.wait((seeing,))
        await waking  # raises its error
        if request.beacon:
            raise TimeoutError
        await lookout.until_appeared(_APPEARS_S)

    async def until_appeared(self, entry: DeviceEntry, interface: str, limit_s: float) -> None:
        """Return when the network of a camera is received by an interface, or its time is over."""
        await Lookout(partial(self._is_visible, entry, interface)).until_appeared(limit_s)

    async def _is_visible(self, entry: DeviceEntry, interface: str, all_channels: bool) -> bool:
        """Whether the network of a device is on the air, as its attempt's adapter receives."""
        device = entry.device
        others = self._state.registry.cameras_of_others(device)
        with suppress(Busy, TimeoutError):
            async with asyncio.timeout(_LOOK_S):
                return await self._backend.is_visible(
                    interface, device.ssid, device.sightings, others, all_channels=all_channels
                )
        return False

    # -- asleep or gone

    @asynccontextmanager
    async def _told_asleep(self, entry: DeviceEntry) -> AsyncIterator[None]:
        """Ask Bluetooth whether the camera sleeps, if an attempt takes long, and say so if it fails."""
        model = self._state.model(entry.device)
        if model.bluetooth is None:
            yield
            return
        asking = self._tasks.start("asleep", self._ask_whether_asleep(model), expected=(WifimgrdError,))
        try:
            yield
        except DeviceNotReachable as error:
            address = entry.device.bluetooth_address
            if address and entry.sleep.sight.state is not PowerState.ASLEEP:
                with suppress(WifimgrdError, TimeoutError):
                    async with asyncio.timeout(_ASLEEP_LIMIT_S):
                        await self.find(address, _ASLEEP_SEARCH_S, [model])
            if entry.sleep.sight.state is PowerState.ASLEEP:
                hint = sentences.asleep(entry.device.id)
                raise DeviceNotReachable(f"{error.message}; {hint}") from None
            raise
        finally:
            asking.cancel()

    async def _ask_whether_asleep(self, model: CameraModel) -> None:
        await asyncio.sleep(_ASLEEP_AFTER_S)
        if model.bluetooth is not None and model.bluetooth.service:
            await self.search(_ASLEEP_SEARCH_S, [model])

    # -- end

    def forget(self, entry: DeviceEntry) -> None:
        """Stop waiting for the time at which the known state of a camera is out of date."""
        if entry.sleep.expiry is not None:
            entry.sleep.expiry.cancel()
            entry.sleep.expiry = None

    async def stop(self) -> None:
        """End all wakes and searches."""
        for address in list(self.heard):
            self._forget(address)
        for entry in self._state.entries.values():
            self.forget(entry)
        await self._tasks.stop()
