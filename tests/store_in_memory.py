"""A device store without a disk, for tests whose clock jumps: threads do not follow such a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import fields, replace

from wifimgrd.domain.bonds import Claim
from wifimgrd.domain.device import Device, DeviceId, Passphrase
from wifimgrd.domain.errors import DeviceNotFound


class StoreInMemory:
    """Keeps what tests/daemon/store proves of the real one: ids in order, never reused, one per key."""

    def __init__(self) -> None:
        self.devices: dict[DeviceId, Device] = {}
        self.secrets: dict[DeviceId, Passphrase] = {}
        self.keys: dict[str, DeviceId] = {}
        self.requests: dict[DeviceId, bytes] = {}
        self.requests_of_keys: dict[str, bytes] = {}
        self.last = 0
        self.address = ""
        self.made_bonds: dict[str, Claim] = {}
        self.is_closed = False

    async def load(self) -> Mapping[DeviceId, Device]:
        self.is_closed = False
        return dict(self.devices)

    async def add(
        self, draft: Device, passphrase: Passphrase, key: str | None = None, request: bytes = b""
    ) -> Device:
        await asyncio.sleep(0.001)
        if key is not None and key in self.keys:
            return self.devices[self.keys[key]]
        self.last += 1
        device = replace(draft, id=DeviceId(self.last))
        self.address = device.address or self.address
        self.devices[device.id], self.secrets[device.id] = device, passphrase
        self.requests[device.id] = request
        if key is not None:
            self.keys[key] = device.id
        return device

    async def last_address(self) -> str:
        return self.address

    async def bonds(self) -> Mapping[str, Claim]:
        return dict(self.made_bonds)

    async def keep_bonds(self, address: str, claim: Claim) -> None:
        await asyncio.sleep(0.001)
        self.made_bonds.pop(address, None)
        if claim != Claim():
            self.made_bonds[address] = claim

    async def find_key(self, key: str) -> DeviceId | None:
        return self.keys.get(key)

    async def request_of(self, key: str) -> bytes:
        return self.requests_of_keys.get(key) or self.requests.get(self.keys[key], b"")

    async def passphrase(self, device_id: DeviceId) -> Passphrase:
        await asyncio.sleep(0.001)
        if device_id not in self.secrets:
            raise DeviceNotFound(f"there is no camera {device_id}")
        return self.secrets[device_id]

    async def update(
        self,
        before: Device,
        after: Device,
        passphrase: Passphrase | None = None,
        key: str | None = None,
        request: bytes = b"",
    ) -> None:
        await asyncio.sleep(0.001)
        if after.id not in self.devices:
            raise DeviceNotFound(f"there is no camera {after.id}")
        if key is not None:
            self.keys[key], self.requests_of_keys[key] = after.id, request
        self._write(before, after)
        if passphrase is not None:
            self.secrets[after.id], self.requests[after.id] = passphrase, b""

    def record(self, before: Device, after: Device, *, at_once: bool = False) -> None:
        assert not self.is_closed, "a closed store is written to"
        assert after.id in self.devices, "a removed device is written again"
        self._write(before, after)

    def _write(self, before: Device, after: Device) -> None:
        names = [one.name for one in fields(Device)]
        changed = {one: getattr(after, one) for one in names if getattr(after, one) != getattr(before, one)}
        self.devices[after.id] = replace(self.devices[after.id], **changed)
        self.address = changed.get("address") or self.address

    async def flush(self) -> None:
        await asyncio.sleep(0.001)

    async def remove(self, device_id: DeviceId) -> None:
        await asyncio.sleep(0.001)
        del self.devices[device_id], self.secrets[device_id]

    async def close(self) -> None:
        self.is_closed = True
