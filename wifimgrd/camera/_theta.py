"""A Ricoh Theta over a link: https://github.com/ricohapi/theta-api-specs, theta-bluetooth-api.

V and Z1 do not pair: they have to know the host's UUID, which is registered with them over Wi-Fi, once
(`OscDriver.register_host`).
"""

from __future__ import annotations

import re
from typing import Final

from wifimgrd.camera._bluetooth_camera import BluetoothCamera
from wifimgrd.camera._credentials import credentials_of
from wifimgrd.camera._link import Link, Refused, Trouble
from wifimgrd.domain.power import PairedCamera
from wifimgrd.kernel.bluetooth import host_uuid

SERVICE: Final = "8af982b1-f1ff-4d49-83f0-a56db4c431a7"
"""Camera Control Command."""
_AUTH: Final = "ebafb2f0-0e0f-40a2-a84f-e2f098dc13c3"
"""Auth Bluetooth Device: `host_uuid`; X does not have it."""
_POWER: Final = "b58ce84c-0666-4de9-bec8-2d27b27b3211"
_NETWORK: Final = "9111cdd0-9f01-45c4-a2d4-e09e8fb0424d"
_PASSWORD_STATE: Final = "e522112a-5689-4901-0803-0520637dc895"  # noqa: S105 - a UUID
_SERIAL: Final = "0d2fc4d5-5cb3-4cde-b519-445e599957d8"
_MODEL: Final = "35fe6272-6aa5-44d9-88e1-f09427f51a71"

_ON: Final = b"\x01"
_ASLEEP: Final = b"\x02"
_DIRECT_MODE: Final = b"\x01"
_FROM_SERIAL: Final = b"\x00"
"""The state of a password that was never changed, and is a part of the serial number."""
_SERIAL_FORM: Final = re.compile("[A-Z]{2}([0-9]{8})")
_LONGEST_MODEL: Final = 64
_UNKNOWN_HOST: Final = "the camera does not know this hub: pair it while it is connected over Wi-Fi"


class Theta(BluetoothCamera):
    """A Theta that is connected."""

    SERVICE = SERVICE
    NEEDS_BOND = False

    @classmethod
    async def wants_bond(cls, link: Link) -> bool:
        """Whether the camera is one that pairs: an X, not a V or Z1."""
        await cls(link).start()
        return not link.has(_AUTH)

    async def start(self) -> None:
        """Wait for its characteristics."""
        await self._link.require((_POWER, _NETWORK))

    async def wake(self) -> None:
        """It accepts power commands of everybody, and others after the authentication, again once it is
        awake."""
        await self.start()
        await self._switch_on()

    async def _switch_on(self) -> None:
        await self._authenticate()
        await self._link.write(_POWER, _ON)
        await self._authenticate()
        try:
            await self._link.write(_NETWORK, _DIRECT_MODE)
        except Refused:
            raise Trouble(_UNKNOWN_HOST) from None

    async def sleep(self) -> None:
        """Put it to sleep."""
        await self.start()
        await self._authenticate()
        await self._link.write(_POWER, _ASLEEP)

    async def pair(self) -> PairedCamera:
        """The password cannot be read: what it is before it is changed follows from the serial number."""
        await self.start()
        paired = await self._read_identity()
        await self._switch_on()
        return paired

    async def _read_identity(self) -> PairedCamera:
        await self._link.require((_SERIAL, _MODEL))
        serial = (await self._link.read(_SERIAL)).rstrip(b"\0").decode("ascii", "replace")
        model = (await self._link.read(_MODEL)).rstrip(b"\0").decode("ascii", "replace")
        found = _SERIAL_FORM.fullmatch(serial)
        if found is None:
            raise Trouble("the camera told a serial number that is not valid")
        credentials = credentials_of(f"THETA{serial}.OSC".encode(), found[1].encode())
        is_changed = (
            self._link.has(_PASSWORD_STATE) and await self._link.read(_PASSWORD_STATE) != _FROM_SERIAL
        )
        password = None if is_changed else credentials.password
        said = model if model.isprintable() and len(model) <= _LONGEST_MODEL else ""
        return PairedCamera(credentials.ssid, password, said, serial)

    async def _authenticate(self) -> None:
        if self._link.has(_AUTH):
            try:
                await self._link.write(_AUTH, host_uuid().encode())
            except Refused:
                return  # asleep, or the next write is refused, too
