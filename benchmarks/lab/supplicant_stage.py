"""The guest without NetworkManager, and a bare script on wpa_supplicant and systemd-networkd."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from dbus_next.signature import Variant

from benchmarks.lab.stage import WPAS, WPAS_INTERFACE, Join, Stage, scan_for
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter, plug_in
from tests.lab.guest.deadline import async_poll_until
from tests.lab.guest.namespace import run
from tests.lab.guest.system_bus import BusError

_ROOT: Final = "/fi/w1/wpa_supplicant1"
_NETWORK: Final = Path("/run/systemd/network/10-bare.network")
_NETWORK_TEXT: Final = "[Match]\nName={}\n[Network]\nDHCP=ipv4\nLinkLocalAddressing=no\n"
_JOIN_S: Final = 30.0
_GONE_S: Final = 10.0


class SupplicantStage(Stage):
    """A host without NetworkManager. Both sides have the same programs; each has an adapter of its own, since
    wifimgrd leaves those alone that are another program's."""

    bare_is = "bare script on wpa_supplicant and networkd"
    bare_scan_is = "bare script: scan of one channel, then the join"

    async def at_disposal(self, adapter: Adapter) -> None:
        """See Stage.at_disposal."""

        async def unused() -> bool:
            return await self._state(adapter) in ("", "disconnected", "inactive") and not _addresses(adapter)

        await async_poll_until(unused, f"{adapter.interface} not in use", _GONE_S)

    @asynccontextmanager
    async def bare(self, ours: Adapter, port: str) -> AsyncIterator[Adapter]:
        """See Stage.bare."""
        adapter = plug_in(port, ours.channels)
        _NETWORK.write_text(_NETWORK_TEXT.format(adapter.interface))
        await asyncio.to_thread(run, "networkctl", "reload")
        options = {"Ifname": Variant("s", adapter.interface), "Driver": Variant("s", "nl80211")}
        [path] = await self.bus.call(WPAS, _ROOT, WPAS, "CreateInterface", "a{sv}", options)
        try:
            yield adapter
        finally:
            await self.bus.call(WPAS, _ROOT, WPAS, "RemoveInterface", "o", path)  # unplugged, it would stay
            adapter.unplug()
            _NETWORK.unlink()

    async def join_bare(self, adapter: Adapter, camera: Camera) -> Join:
        """From AddNetwork to the address; see Stage.join_bare."""
        path = await self.supplicant.interface(adapter.interface)
        began = time.monotonic()
        return await self._joined(adapter, path, camera, began)

    async def scan_and_join_bare(self, adapter: Adapter, camera: Camera) -> Join:
        """From Scan, of one channel, to the address; see Stage.scan_and_join_bare."""
        path = await self.supplicant.interface(adapter.interface)
        began = time.monotonic()
        await self.bus.call(WPAS, path, WPAS_INTERFACE, "Scan", "a{sv}", scan_for(camera))
        await self._changed(path, "Scanning", False, began)
        return await self._joined(adapter, path, camera, began)

    async def _joined(self, adapter: Adapter, path: str, camera: Camera, began: float) -> Join:
        """Join a WPA2 network, and leave it once there is an address."""
        network = {
            "ssid": Variant("ay", camera.ssid),
            "psk": Variant("s", camera.password),
            "key_mgmt": Variant("s", "WPA-PSK"),
        }
        [added] = await self.bus.call(WPAS, path, WPAS_INTERFACE, "AddNetwork", "a{sv}", network)
        await self.bus.call(WPAS, path, WPAS_INTERFACE, "SelectNetwork", "o", added)
        await self._changed(path, "State", "completed", began)
        join = await self.join(adapter, began, await self.addressed(adapter, began) - began)
        await self._leave(adapter, path)
        return join

    async def _leave(self, adapter: Adapter, path: str) -> None:
        await self.bus.call(WPAS, path, WPAS_INTERFACE, "RemoveAllNetworks")
        await self.at_disposal(adapter)

    async def _changed(self, path: str, name: str, value: Any, since_s: float) -> None:
        """Wait until wpa_supplicant has reported this value of a property."""

        async def reported() -> bool | None:
            for one in reversed(self.supplicant.changes):
                if one.time_s < since_s:
                    break
                if (one.path, one.name, one.value) == (path, name, value):
                    return True
            return None

        await self.bus.until(reported, f"{name} {value} at {path}", _JOIN_S)

    async def _state(self, adapter: Adapter) -> str:
        """wpa_supplicant's state of an interface; empty where it does not have it."""
        try:
            path = await self.supplicant.interface(adapter.interface)
            return str(await self.bus.read(WPAS, path, WPAS_INTERFACE, "State"))
        except BusError:
            return ""


def _addresses(adapter: Adapter) -> list[Any]:
    listed = json.loads(run("ip", "-4", "-j", "address", "show", "dev", adapter.interface) or "[]")
    return [address for one in listed for address in one.get("addr_info", ())]
