"""The hub as a Bluetooth LE central: connections and bonds, through BlueZ."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from wifimgrd.bus.connection import BusClosed, BusConnection, BusError
from wifimgrd.camera._advertisements import parse
from wifimgrd.camera._agent import Agent
from wifimgrd.camera._limits import Limits
from wifimgrd.camera._link import Link, LinkLost, Trouble
from wifimgrd.camera._offers import why_unfit
from wifimgrd.camera._radio import Radio
from wifimgrd.camera.drivers import gopro_messages as gopro
from wifimgrd.domain.bonds import HostBonds
from wifimgrd.domain.errors import BluetoothUnavailable, NotPaired
from wifimgrd.proxies.bluez import definitions as bluez
from wifimgrd.proxies.bluez.definitions import CONNECT_FAULTS, DeviceProperties, Fault
from wifimgrd.proxies.bluez.objects import NO_ANSWER, Adapter, Device
from wifimgrd.runtime.tasks import Tasks

_REFUSALS: Final = 2
"""So many refused connections in a row are told as such: a single one is mostly a lost packet."""
_FORGOTTEN: Final = "the camera has forgotten this hub: pair it again"
_NOT_PAIRED: Final = "the camera is not paired with this hub"
_OUT_OF_RANGE: Final = "no answer within 40 s: the camera is out of range, or switched off"
_NOT_HEARD: Final = "the camera was not heard: it is out of range, or switched off"
_MAY_HAVE_FORGOTTEN: Final = "if this stays so, it may have forgotten this hub: pair it again"
_NOT_IN_PAIRING_MODE: Final = "it may not be in its pairing mode"
_KEPT: Final = "was not heard in its pairing mode: this hub keeps its bond"
_OF_OTHERS: Final = (
    "this hub has not made the bond that the camera has lost: bluetoothctl remove {}, and pair it again"
)
_NO_CAMERA: Final = "this host is paired with a device of this address that is not such a camera"
_OTHER_ADAPTER: Final = "the Bluetooth adapter {} is not there"
_NO_PAIRING: Final = "the camera refused the pairing: it is not in its pairing mode"


class Central:
    """Connections with cameras, and bonds."""

    def __init__(self, connection: BusConnection, radio: Radio, tasks: Tasks, limits: Limits) -> None:
        self._connection = connection
        self._tasks = tasks
        self.limits = limits
        self.radio = radio
        self.objects = radio.objects
        self.agent = Agent(connection, radio)
        self._disconnections: dict[str, asyncio.Task[None]] = {}
        """Disconnect calls that are not answered, by the device's path."""
        self._removals: dict[str, asyncio.Task[None]] = {}
        """Devices that are being removed, by address."""
        self.on_unfit: Callable[[str, str], None] = lambda *_: None
        """Called with the address of a bonded device that is more than a camera, and with why."""
        self.on_bonding: Callable[[str, str], None] = lambda *_: None
        """Called with the address of a camera, and that of the adapter, before BlueZ is asked to pair."""
        self.on_more_services: Callable[[str], None] = lambda _: None
        """Called with the address of a bonded camera in use that has become such a device."""
        self.objects.watch_services(self._services_changed)

    async def bonds(self, address: str) -> HostBonds:
        """At which adapters this host has a bond with a camera, once one that is being removed is. Raises
        BluetoothUnavailable if that is not known: what BlueZ does not have, or does not say, is not what this
        host does not have."""
        await self._removed(address)
        objects = self.objects
        if not objects.loaded:
            raise BluetoothUnavailable(self.radio.status.reason or "bluetoothd is starting")
        try:
            await objects.read_again()
        except BusError as error:
            raise self.radio.refusal(error) from None
        except TimeoutError:
            raise BluetoothUnavailable(NO_ANSWER) from None
        if not objects.adapters:
            raise BluetoothUnavailable(self.radio.status.reason)
        adapters = {one.get("Address", "") for one in objects.adapters.values()}
        bonded = {objects.adapter_of(path) for path in self._bonded(address)}
        return HostBonds(frozenset(bonded), frozenset(adapters))

    async def _removed(self, address: str) -> None:
        """Wait until a bond that is being removed is."""
        if address in self._removals:
            await asyncio.wait({self._removals[address]})

    def _bonded(self, address: str) -> Sequence[str]:
        """The paths of a camera that this host has a bond with, one for each adapter that has one."""
        return [path for path in self.objects.at_adapters(address) if self.objects.is_paired(path)]

    def is_paired(self, address: str) -> bool:
        """Whether this host has a bond with a camera."""
        return bool(self._bonded(address))

    # -- more than cameras

    def why_unfit(self, address: str) -> str:
        """Why a device is not bonded with, by the services that it has told; empty if it has told none of
        these."""
        told = (self.objects.devices[path].get("UUIDs", ()) for path in self.objects.at_adapters(address))
        return next((why for uuids in told if (why := why_unfit(uuids))), "")

    def _require_fit(self, path: str) -> None:
        """Raise Unfit for a device that is more than a camera."""
        device = self.objects.devices.get(path, {})
        if why := why_unfit(device.get("UUIDs", ())):
            if device.get("Paired", False):
                self.on_unfit(device.get("Address", ""), why)
            raise Unfit(why)

    def _services_changed(self, path: str) -> None:
        """A device has told its services: a bonded camera that becomes more than one is in use no longer."""
        device = self.objects.devices[path]
        address = device.get("Address", "")
        if address in self.objects.kept and device.get("Paired", False):
            try:
                self._require_fit(path)
            except Unfit:
                self.on_more_services(address)

    # -- connections

    async def find(self, address: str) -> str | None:
        """The object path of a device, which is looked for if BlueZ does not have it; None if it is not
        heard. Raises BluetoothUnavailable."""
        path = self.objects.device(address)
        if path is None:
            async with self.radio.discovery((), self.limits.find_s) as ended:
                await self.objects.until(
                    lambda: self.objects.device(address) is not None or ended.is_set(), self.limits.find_s
                )
                path = self.objects.device(address)
        return path

    async def connect_bonded(self, address: str, pauses_s: Sequence[float] | None = None) -> Link:
        """Connect to a bonded camera; `pauses_s` are those before each further try, if they are not the
        usual ones. Raises Trouble, NotPaired and BluetoothUnavailable."""
        self.radio.require_ready()
        path = next(iter(self._bonded(address)), None)
        if path is None:
            raise NotPaired(_NOT_PAIRED)
        return await self._connect(path, self.limits.pauses_s if pauses_s is None else pauses_s)

    async def connect_known(self, address: str) -> Link:
        """Connect to a camera with or without a bond; raises as `connect_bonded`."""
        self.radio.require_ready()
        path = await self.find(address)
        if path is None:
            raise Trouble(_NOT_HEARD)
        return await self._connect(path, self.limits.pauses_s)

    async def _connect(self, path: str, pauses_s: Sequence[float]) -> Link:
        """Connect and wait for the services; raises Trouble, Refusals if the camera seems to refuse,
        BondLost, and BluetoothUnavailable."""
        self._require_fit(path)
        refusals, is_bonded = 0, self.objects.is_paired(path)
        self.objects.take_authentication_failure(path)
        for pause_s in (*pauses_s, None):
            try:
                return await self._try_to_connect(path, is_bonded=is_bonded)
            except _ConnectionRefused:
                refusals += 1
            except _AdapterBusy:
                pass
            if pause_s is not None:
                await asyncio.sleep(pause_s)
            if self.objects.take_authentication_failure(path) and is_bonded:
                raise BondLost(_FORGOTTEN)
            self.radio.require_ready()
        if refusals < _REFUSALS:
            raise Trouble("the Bluetooth adapter could not connect to the camera")
        raise Refusals(refusals, is_bonded=is_bonded)

    async def _try_to_connect(self, path: str, *, is_bonded: bool) -> Link:
        if path in self._disconnections:  # it would end the new link
            await asyncio.wait({self._disconnections[path]})
        loop, link = asyncio.get_running_loop(), Link(self._connection, self.objects, path, self.limits)
        began_s = loop.time()
        is_own = path in self.objects.own_links or not self.objects.is_connected(path)
        self.objects.forget_values(path)
        try:
            await Device(self._connection, path).connect(self.limits.connect_s)
            # BlueZ 5.82 does not always signal `Connected`.
            await self.objects.refresh(path)
            if is_own and link.is_up:
                self.objects.set_own(path, is_own=True)
            resolved = await self.objects.until(
                lambda: not link.is_up or self._is_resolved(path), self.limits.services_s
            )
        except (TimeoutError, asyncio.CancelledError) as end:
            if is_own:
                self._disconnect_soon(path)
            if isinstance(end, TimeoutError):
                raise Trouble(_OUT_OF_RANGE) from None
            raise
        except BusError as error:
            raise self._why(error, path, loop.time() - began_s, is_bonded=is_bonded) from None
        if not link.is_up:
            if loop.time() - began_s < self.limits.quick_s:
                raise _ConnectionRefused
            raise LinkLost
        try:
            self._require_fit(path)
        except Unfit:
            self.let_go(path)
            raise
        if not resolved:
            self.let_go(path, is_dead=not is_bonded)
            raise Trouble("the camera does not say what it offers")
        return link

    def _is_resolved(self, path: str) -> bool:
        return self.objects.devices.get(path, {}).get("ServicesResolved", False)

    def _why(self, error: BusError, path: str, after_s: float, *, is_bonded: bool) -> Exception:
        """Why a Connect has failed: BlueZ has one text for a camera that is absent, for one that refuses, and
        for packets that were lost."""
        if self.objects.powered_adapter() is None:
            return self.radio.refusal(error)
        fault = CONNECT_FAULTS.get(error.message, Fault.NOT_DEVICE)
        if error.name == bluez.AUTHENTICATION_FAILED or fault is Fault.KEY:
            return BondLost(_FORGOTTEN) if is_bonded else _ConnectionRefused()
        if path not in self.objects.devices:
            return NotPaired(_NOT_PAIRED) if is_bonded else Trouble(_NOT_HEARD)
        if fault is Fault.RADIO_OR_DEVICE and after_s >= self.limits.absent_s:
            return Trouble(_OUT_OF_RANGE)
        if fault is Fault.RADIO_OR_DEVICE and after_s < self.limits.quick_s:
            return _ConnectionRefused()
        return _AdapterBusy()

    def let_go(self, path: str, *, is_dead: bool = False) -> None:
        """End the connection with a device, without waiting, if this process has made it, or if it `is_dead`:
        nothing works on it. A connection that was there before stays, but nothing here listens to it."""
        self.objects.forget_values(path)
        if is_dead or path in self.objects.own_links:
            self._disconnect_soon(path)

    def _disconnect_soon(self, path: str) -> None:
        """Disconnect from a device, or end a Connect, without waiting for it, which takes BlueZ 2 s; the next
        connection does."""
        self.objects.forget_values(path)
        task = self._disconnections[path] = self._tasks.start("disconnect", self._disconnect(path))
        task.add_done_callback(partial(self._disconnected, path))

    def _disconnected(self, path: str, task: asyncio.Task[None]) -> None:
        if self._disconnections.get(path) is task:
            del self._disconnections[path]

    async def _disconnect(self, path: str) -> None:
        with suppress(BusError, BusClosed, TimeoutError):
            await Device(self._connection, path).disconnect()

    # -- bonds

    async def bond(
        self, address: str, service: str, wants_bond: Callable[[Link], Awaitable[bool]], own: Collection[str]
    ) -> tuple[Link, bool]:
        """Connect to a camera and bond with it if it is not, or if it has provably forgotten that and the
        bond is at one of `own`, which are addresses of adapters; those bonds are used first. Returns whether
        the bond is new, in which case its failure must be followed by `undo`.

        A device that is not a camera, or is more than one, is refused before BlueZ is asked for anything but
        a connection: a bonded one by the services that it was seen to have, `service` among them, another one
        by what it has once it is connected. `wants_bond` tells by the connection whether the camera is one
        that bonds, and raises Trouble if it is none at all. Raises Trouble and BluetoothUnavailable."""
        self.radio.require_ready()
        await self._removed(address)
        for path in sorted(self._bonded(address), key=lambda path: self.objects.adapter_of(path) not in own):
            self._require_camera(path, service)
            try:
                return await self._connect(path, self.limits.pauses_s), False
            except (BondLost, Refusals) as lost:
                if isinstance(lost, Refusals) and not await self._is_in_pairing_mode(address):
                    raise Trouble(f"{lost.times}, and {_KEPT}") from None
                if self.objects.adapter_of(path) not in own:
                    raise Trouble(_OF_OTHERS.format(address)) from None
                await self._remove(path)
            except NotPaired:  # it is gone meanwhile
                pass
        await self._end_leftover(address)
        try:
            link, is_new = await self._meet(address, wants_bond)
        except LinkLost:  # nothing has begun that could not be begun again
            link, is_new = await self._meet(address, wants_bond)
        if is_new:
            await self._pair(address, link)
        return link, is_new

    async def _meet(self, address: str, wants_bond: Callable[[Link], Awaitable[bool]]) -> tuple[Link, bool]:
        """Connect to a camera without a bond, and find out whether one is to be made; raises Trouble and
        BluetoothUnavailable."""
        try:
            link = await self.connect_known(address)
        except Refusals as refusals:
            raise Trouble(f"{refusals.times}: {_NOT_IN_PAIRING_MODE}") from None
        try:
            is_new = await wants_bond(link)
            with suppress(BusError):
                await self.objects.refresh(link.path)
            self._require_fit(link.path)
        except BaseException:
            self.let_go(link.path)
            raise
        return link, is_new and not self.objects.is_paired(link.path)  # by another program, meanwhile

    def _require_camera(self, path: str, service: str) -> None:
        """Raise Trouble for a bonded device that BlueZ knows not to be a camera with a service."""
        device = self.objects.devices.get(path, {})
        self._require_fit(path)
        if service not in {*device.get("UUIDs", ()), *device.get("ServiceData", ())}:
            raise Trouble(_NO_CAMERA)

    async def _is_in_pairing_mode(self, address: str) -> bool:
        """Whether a camera is heard now that says so; raises BluetoothUnavailable. BlueZ keeps what it has
        heard long ago, and signals that a device is heard before it signals what the device says now."""
        is_heard = asyncio.Event()

        def heard(_: str, device: DeviceProperties) -> None:
            if device.get("Address") == address:
                is_heard.set()
                self.objects.wake()

        stop_watching = self.objects.watch_devices(heard)
        try:
            async with self.radio.discovery((), self.limits.find_s) as ended:
                await self.objects.until(lambda: is_heard.is_set() or ended.is_set(), self.limits.find_s)
                await self.objects.until(lambda: not is_heard.is_set() or ended.is_set(), self.limits.hear_s)
        finally:
            stop_watching()
        path = self.objects.device(address)
        if path is None or not is_heard.is_set():
            return False
        return parse(self.objects.devices[path], gopro.SERVICE).pairing_mode or False

    async def _end_leftover(self, address: str) -> None:
        """Disconnect a camera that is connected and has no bond, if this process has connected it, or if its
        services do not come: a bluetoothd that was stopped in the middle of a pairing leaves a link on which
        nothing works, and after the end of this process, too, nobody knows whose it was."""
        path = self.objects.device(address)
        if path is None or not self.objects.is_connected(path):
            return

        def is_alive_or_gone() -> bool:
            return self._is_resolved(path) or not self.objects.is_connected(path)

        is_own = path in self.objects.own_links
        if is_own or not await self.objects.until(is_alive_or_gone, self.limits.characteristics_s):
            self._disconnect_soon(path)

    async def _pair(self, address: str, link: Link) -> None:
        """Bond over a link; one that fails is undone, once BlueZ was asked."""
        try:
            await self.agent.register()
        except BaseException:
            self.let_go(link.path)
            raise
        self.on_bonding(address, self.objects.adapter_of(link.path))
        try:
            with self.agent.accepting(link.path):
                await self._call_pair(link)
        except BaseException:
            self.undo(address, link)
            raise

    async def _call_pair(self, link: Link) -> None:
        """Have BlueZ pair. What counts is the property `Paired`: the reply may never come."""
        pairing = asyncio.ensure_future(
            Device(self._connection, link.path).pair(self.limits.pair_s + self.limits.answer_s)
        )
        try:

            def is_over() -> bool:
                return self.objects.is_paired(link.path) or not link.is_up or pairing.done()

            pairing.add_done_callback(lambda _: self.objects.wake())
            await self.objects.until(is_over, self.limits.pair_s)
            if not self.objects.is_paired(link.path):
                if not pairing.done():
                    await asyncio.wait({pairing}, timeout=self.limits.late_s)
                with suppress(BusError, TimeoutError):
                    await self.objects.refresh(link.path)
            if not self.objects.is_paired(link.path):
                raise self._why_not_paired(pairing)
        finally:
            pairing.cancel()
            await asyncio.gather(pairing, return_exceptions=True)

    def _why_not_paired(self, pairing: asyncio.Future[None]) -> Exception:
        self.radio.require_ready()
        error = pairing.exception() if pairing.done() and not pairing.cancelled() else None
        if isinstance(error, BusError) and "Authentication" in error.name:
            return Trouble(_NO_PAIRING)
        if isinstance(error, BusError):
            return Trouble(f"the pairing failed: {error.message[:200]}")
        return Trouble("the camera did not answer the pairing")

    async def unbond(self, address: str, adapter: str) -> None:
        """Remove the bond with a device at the adapter with an address, if there is one. Raises
        BluetoothUnavailable as `bonds`, and if that adapter is not there."""
        if adapter not in (await self.bonds(address)).adapters:
            raise BluetoothUnavailable(_OTHER_ADAPTER.format(adapter))
        for path in self._bonded(address):
            if self.objects.adapter_of(path) == adapter:
                await self._remove(path)

    async def _remove(self, path: str) -> None:
        """Remove a device with its bond, if BlueZ has it; raises BluetoothUnavailable."""
        self.objects.forget_values(path)
        adapter = path.rpartition("/")[0]
        try:
            await Adapter(self._connection, adapter).remove_device(path)
        except BusError as error:
            if error.name != bluez.DOES_NOT_EXIST:
                raise self.radio.refusal(error) from None
        except TimeoutError:
            raise BluetoothUnavailable(NO_ANSWER) from None
        await self.objects.until(lambda: path not in self.objects.devices, self.limits.answer_s)

    async def _remove_quietly(self, path: str) -> None:
        with suppress(BluetoothUnavailable, BusClosed):
            if path in self.objects.devices:
                await self._remove(path)

    def undo(self, address: str, link: Link) -> None:
        """Remove a device that `bond` has made a bond with, or has tried to, without waiting for it; `bond`
        does. One without a bond whose link was there before stays as it was."""
        is_of_others = self.objects.is_connected(link.path) and link.path not in self.objects.own_links
        if is_of_others and not self.objects.is_paired(link.path):
            return
        task = self._removals[address] = self._tasks.start("remove", self._remove_quietly(link.path))
        task.add_done_callback(lambda _: self._removals.pop(address, None))


class BondLost(NotPaired):
    """The camera has no key for this host, as BlueZ says."""


class Refusals(Trouble):
    """Each connection ended at once: mostly the radio's trouble, sometimes a camera that has lost its bond or
    that is not in its pairing mode. It proves nothing."""

    def __init__(self, number: int, *, is_bonded: bool) -> None:
        self.times = f"the camera refused the connection {number} times"
        super().__init__(f"{self.times}: {_MAY_HAVE_FORGOTTEN}" if is_bonded else self.times)


class Unfit(Trouble):
    """The device is more than a camera."""


class _ConnectionRefused(Exception):
    """The link ended at once."""


class _AdapterBusy(Exception):
    """The adapter could not connect now; a later attempt may."""
