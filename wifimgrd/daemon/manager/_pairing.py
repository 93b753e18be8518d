"""Which camera is whose: pairing over Bluetooth, for devices that are registered and for new ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import structlog

from wifimgrd.daemon.manager._amending import amend
from wifimgrd.daemon.manager._bonds import Bonds
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.manager._waking import Waking
from wifimgrd.domain import sentences
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.camera_model import Bluetooth, CameraModel
from wifimgrd.domain.commands import PAIR
from wifimgrd.domain.device import DeviceId, DeviceState, Ssid
from wifimgrd.domain.errors import Busy, NotConnected, PairingFailed, WifimgrdError
from wifimgrd.domain.events import DeviceUpdated, OperationFailed
from wifimgrd.domain.power import Advertiser, PairedCamera, codename_of, matches, newest_of, pairing_error
from wifimgrd.domain.registration import PairingRegistration
from wifimgrd.domain.time_limits import PAIRING_S
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_SEARCH_S: Final = 10
_NAMED: Final = 8
"""How many cameras an error names, those that were received best."""
_LONGEST_NAME: Final = 40
_SERIAL_DIGITS: Final = 8
"""At the end of a Theta's name: theta-web-api-v2.1/commands/camera._set_bluetooth_device.md."""
_NOT_CONNECTED: Final = "the hub registers itself with this camera over its network, and it is not connected"


class Pairing:
    """Pairs cameras, and forgets them."""

    def __init__(
        self, state: HubState, waking: Waking, bonds: Bonds, control: CameraControl, tasks: Tasks
    ) -> None:
        self._state = state
        self._waking = waking
        self._bonds = bonds
        self._control = control
        self._tasks = tasks
        self._pairing: set[str] = set()
        """The addresses of the cameras that are being paired."""

    @asynccontextmanager
    async def introduced(self, registration: PairingRegistration) -> AsyncIterator[tuple[str, PairedCamera]]:
        """Pair the camera of a new device; yields its codename, and what it says of its network. No other
        device gets the camera meanwhile; a bond that the hub has made is removed if none has it in the end.

        A camera whose model is not known is of the newest one that it may be.

        Raises Busy, PairingFailed, BluetoothUnavailable.
        """
        await self._waking.require_bluetooth()
        address = registration.bluetooth_address
        with self._alone_with(address):
            codename, camera = await self._identify(registration)
            try:
                yield codename, camera
            except BaseException:
                if self._holder(address) is None:
                    self._bonds.remove_later(address)
                raise

    async def _identify(self, registration: PairingRegistration) -> tuple[str, PairedCamera]:
        address = registration.bluetooth_address
        try:
            async with asyncio.timeout(PAIRING_S):
                models = self._state.settings.models
                seen = self._waking.heard.get(address)
                if seen is None:
                    seen = await self._waking.find(address, _SEARCH_S, models.values())
                if seen is None:
                    raise PairingFailed(f"no camera with the address {address} is in range")
                fitting = [one for one in models.values() if matches(one, seen)]
                named = models.get(registration.codename or "")
                bluetooth = next(filter(None, map(_introduces, [named] if named else fitting)), None)
                if bluetooth is None:
                    raise PairingFailed(f"{address} is not a camera that says what its network is")
                camera = await self._bonds.pair(address, bluetooth.service)
        except TimeoutError:
            raise PairingFailed(f"the camera was not paired within {PAIRING_S:g} s") from None
        known = registration.codename or codename_of(models.values(), seen, camera.model)
        return known or newest_of(models.values(), seen), camera

    async def attach(
        self, address: str, camera: PairedCamera, key: str | None, request: bytes
    ) -> DeviceId | None:
        """The device that was registered by typing the network of a camera that is paired now, and has none
        yet; None if there is no such device. It is found under the idempotency key of the request, too."""
        for entry in self._state.registry.sharing(Ssid(camera.ssid)):
            is_pairable = _introduces(self._state.model(entry.device)) is not None
            if is_pairable and not entry.device.bluetooth_address and not entry.removing:
                await self._remember(entry, address, key, request)
                return entry.device.id
        return None

    async def pair(self, entry: DeviceEntry, bluetooth: Bluetooth, wanted: str) -> None:
        """Pair the camera of a device: the one with an address, which is heard to be of its model unless it
        is the device's already (one that is connected is not heard, and what has the address has to have a
        camera's characteristics before it is paired), else the only one of its model in pairing mode; where
        hosts register over the camera's network, the one that is connected. The bond with the camera that
        the device had before is removed, if the hub has made it. Raises PairingFailed, BluetoothUnavailable,
        Busy, NotConnected."""
        deadline = asyncio.get_running_loop().time() + PAIRING_S
        try:
            async with asyncio.timeout_at(deadline):
                if bluetooth.registration:
                    address = wanted = await self._registered(entry, wanted)
                else:
                    address = wanted or await self._only_one(entry)
            with self._alone_with(address, entry):
                async with asyncio.timeout_at(deadline):
                    if wanted and wanted != entry.device.bluetooth_address:
                        await self._require_heard(entry, wanted)
                    camera = await self._bonds.pair(address, bluetooth.service)
                await self._take(entry, address, camera)
        except TimeoutError:
            raise PairingFailed(f"the camera was not paired within {PAIRING_S:g} s") from None

    async def _registered(self, entry: DeviceEntry, wanted: str) -> str:
        """Register this host with the camera of a device over its network; returns the camera's address, by
        the name that it advertises then. Raises NotConnected, PairingFailed, BluetoothUnavailable, Busy."""
        if entry.state is not DeviceState.CONNECTED:
            raise NotConnected(_NOT_CONNECTED)
        try:
            name = await self._control.register_host(entry.device.id)
        except NotConnected:
            raise
        except WifimgrdError as error:
            raise PairingFailed(error.message) from None
        if not (found := self._named(name)):
            await self._waking.search(_SEARCH_S, [self._state.model(entry.device)])
            found = self._named(name)
        if not found:
            shown = name[:_LONGEST_NAME]
            raise PairingFailed(
                f"the camera has registered the hub, but is not heard over Bluetooth as {shown}"
            )
        if wanted and wanted not in found:
            raise PairingFailed(f"the camera that is connected is {found[0]}")
        if len(found) > 1 and not wanted:
            raise PairingFailed(
                f"several cameras have its name, give the address of one: {', '.join(found[:_NAMED])}"
            )
        return wanted or found[0]

    def _named(self, name: str) -> list[str]:
        """The addresses of the cameras that are heard under a name: with or without what is before the digits
        of the serial number."""
        number = name[-_SERIAL_DIGITS:]
        return sorted(
            one.address
            for one in self._waking.heard.values()
            if one.name.removesuffix(".OSC").endswith(number)
        )

    async def _require_heard(self, entry: DeviceEntry, address: str) -> None:
        """Raise PairingFailed unless a camera of the device's model is heard at an address: any other device
        there, such as a keyboard of this host, is left as it is."""
        model = self._state.model(entry.device)
        seen = self._waking.heard.get(address) or await self._waking.find(address, _SEARCH_S, [model])
        if seen is None or not matches(model, seen):
            raise PairingFailed(f"no {model.device_name} with the address {address} is in range")

    async def _take(self, entry: DeviceEntry, address: str, camera: PairedCamera) -> None:
        """Store a camera that was paired for a device, if it is the one; raises PairingFailed."""
        ssid, before = entry.device.ssid, entry.device.bluetooth_address
        if camera.ssid and camera.ssid != ssid.data:
            if address != before:
                self._bonds.remove_later(address)
            raise PairingFailed(pairing_error(ssid, camera.ssid))
        _log.info("paired", device=entry.device.id, device_name=entry.device.name, address=address)
        try:
            await self._remember(entry, address)
        except BaseException:
            if entry.removing:  # the keys of a device that is gone, which `removed` did not know yet
                self._bonds.remove_later(address)
            raise
        if before not in ("", address):
            self._bonds.remove_later(before)

    async def _only_one(self, entry: DeviceEntry) -> str:
        """The address of the only camera of the model that is in pairing mode; raises PairingFailed."""
        model = self._state.model(entry.device)
        await self._waking.search(_SEARCH_S, [model])
        taken = {one.device.bluetooth_address for one in self._state.entries.values() if one is not entry}
        found = [
            one
            for one in self._waking.heard.values()
            if one.pairing_mode and matches(model, one) and one.address not in taken
        ]
        if len(found) == 1:
            return found[0].address
        if not found:
            raise PairingFailed(f"no {model.device_name} in pairing mode is in range")
        found.sort(key=lambda one: -(one.rssi or -1000))
        named = ", ".join(sorted(map(_title, found[:_NAMED])))
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise PairingFailed(f"several cameras are in pairing mode, give the address of one: {named}{more}")

    def paired(self, entry: DeviceEntry) -> None:
        """A device was registered whose camera was just paired."""
        self._waking.paired(entry)

    async def unpair(self, entry: DeviceEntry) -> None:
        """Forget the camera of a device, and remove the bond with it if the hub has made it; raises
        BluetoothUnavailable."""
        address = entry.device.bluetooth_address
        if not address:
            return
        await self._waking.require_bluetooth()
        await self._bonds.remove(address)
        _log.info("unpaired", device=entry.device.id, device_name=entry.device.name)
        await self._remember(entry, "")

    def removed(self, entry: DeviceEntry) -> None:
        """A device was removed: the bond with its camera is, too, if the hub has made it."""
        if address := entry.device.bluetooth_address:
            self._bonds.remove_later(address)

    def bluetooth_ready(self, _: None) -> None:
        """Remove what is left of earlier pairings: the bonds that the hub has made, and no device has."""
        held = {one.device.bluetooth_address for one in self._state.entries.values()}
        self._bonds.bluetooth_ready(held | self._pairing)

    def camera_unfit(self, met: tuple[str, str]) -> None:
        """A camera that this host has a bond with is more than a camera: a bond of the hub's is removed."""
        address, reason = met
        holder = self._holder(address)
        if holder is None and address not in self._bonds.made:
            return  # another program's
        name = {} if holder is None else {"device": holder.device.id, "device_name": holder.device.name}
        _log.warning("camera_unfit", address=address, reason=reason, **name)
        self._tasks.start("unfit", self._end_bond(address, holder, reason), expected=(WifimgrdError,))

    async def _end_bond(self, address: str, holder: DeviceEntry | None, reason: str) -> None:
        if holder is not None and holder.unfit != reason:
            holder.unfit, error = reason, PairingFailed(reason)
            self._state.publish(OperationFailed(holder.device.id, PAIR.name, error.code, error.message))
        await self._bonds.remove(address)
        if holder is not None:
            await self._waking.read_bond(holder)

    async def stop(self) -> None:
        """End what is under way."""
        await self._tasks.stop()
        await self._bonds.stop()

    def _holder(self, address: str) -> DeviceEntry | None:
        """The device that has the camera with an address."""
        entries = self._state.entries.values()
        return next((one for one in entries if one.device.bluetooth_address == address), None)

    @contextmanager
    def _alone_with(self, address: str, entry: DeviceEntry | None = None) -> Iterator[None]:
        """Let no other device get a camera meanwhile; raises PairingFailed if another than `entry` has it,
        Busy if it is being paired."""
        holder = self._holder(address)
        if holder is not None and holder is not entry:
            raise PairingFailed(f"that camera is {sentences.title(holder.device.id, holder.device.name)}")
        if address in self._pairing:
            raise Busy("that camera is being paired for another device")
        self._pairing.add(address)
        try:
            yield
        finally:
            self._pairing.discard(address)

    async def _remember(
        self, entry: DeviceEntry, address: str, key: str | None = None, request: bytes = b""
    ) -> None:
        """Store the camera that is paired for a device, or that none is, safe on disk on return."""
        self._waking.forget_wakes(entry)
        entry.unfit = ""
        if address:
            self._waking.paired(entry)
        async with entry.editing:
            await amend(self._state, entry, {"bluetooth_address": address}, key=key, request=request)
        self._state.publish(DeviceUpdated(self._state.status(entry)))


def _introduces(model: CameraModel) -> Bluetooth | None:
    """How a camera of a model is paired that no device has; None if it says nothing of its network then."""
    bluetooth = model.bluetooth
    return bluetooth if bluetooth is not None and bluetooth.pairing and not bluetooth.registration else None


def _title(seen: Advertiser) -> str:
    return f"{seen.name[:_LONGEST_NAME]} ({seen.address})" if seen.name else seen.address
