"""An interface of wpa_supplicant's: its scans, its list of BSSs, its state.

https://w1.fi/wpa_supplicant/devel/dbus.html. dbus-policy/org.wifimgrd1.conf has to allow each method that is
called here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Final, Self

from wifimgrd.bus.connection import BusConnection, BusError, Signal, Watch
from wifimgrd.bus.proxy import Proxy, ProxyWithProperties
from wifimgrd.bus.values import typed
from wifimgrd.domain.device import Ssid
from wifimgrd.proxies.wpa_supplicant import definitions
from wifimgrd.proxies.wpa_supplicant.bss import Bss, bss_of, seen_since
from wifimgrd.proxies.wpa_supplicant.definitions import (
    BssProperties,
    Capabilities,
    InterfaceProperties,
    NetworkSettings,
)
from wifimgrd.proxies.wpa_supplicant.scan_queue import ScanQueue

_FEW: Final = 4
"""Up to this many BSSs are read whole in one round trip; of more, the SSIDs are read first."""
_ANSWER_S: Final = 5.0
"""How long the supplicant may take to reply."""
_READ_AT_ONCE: Final = 32
"""The message bus limits a client to 128 pending calls (dbus-daemon(1), max_replies_per_connection)."""
_SLACK_S: Final = 0.05
_LATE_S: Final = 1.0
"""On a busy host, the signal for the start of the supplicant's own scan arrives this late. The margin is on
the safe side: counting a network that was received just before the scan costs another scan, missing one that
is there costs the connection."""


class Supplicant(Proxy):
    """The root object."""

    SERVICE = definitions.WPAS
    INTERFACE = definitions.WPAS
    TIMEOUT_S = _ANSWER_S

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, definitions.WPAS_PATH)

    async def interface(self, name: str) -> str:
        """The object path of an interface; raises BusError where the supplicant does not have it."""
        return await self.ask(str, "GetInterface", "s", [name])

    async def remove_interface(self, path: str) -> None:
        """Unregister an interface: its association ends."""
        await self.call("RemoveInterface", "o", [path])

    async def watch_registered(self, handler: Callable[[Signal], None]) -> Watch:
        """Subscribe to interfaces that are registered; the signals have the object path."""
        return await self.watch("InterfaceAdded", handler)

    async def watch_unregistered(self, handler: Callable[[Signal], None]) -> Watch:
        """Subscribe to interfaces that are unregistered; the signals have the object path."""
        return await self.watch("InterfaceRemoved", handler)


class BssObject(ProxyWithProperties[BssProperties]):
    """A BSS in the supplicant's list."""

    SERVICE = definitions.WPAS
    INTERFACE = definitions.WPAS_BSS
    PROPERTIES = BssProperties


class NetworkObject(Proxy):
    """A network that the supplicant is configured to join:
    https://w1.fi/wpa_supplicant/devel/dbus.html#dbus_network."""

    SERVICE = definitions.WPAS
    INTERFACE = definitions.WPAS_NETWORK
    TIMEOUT_S = _ANSWER_S

    async def settings(self) -> NetworkSettings:
        """Its settings."""
        return await self.get("Properties", NetworkSettings)


class SupplicantInterface(ProxyWithProperties[InterfaceProperties]):
    """One interface; `subscribe` subscribes, `close` unsubscribes.

    `on_change` gets the properties of each PropertiesChanged, unless `watch_changes` was called.
    `on_scan_done` gets the end of each scan (True = complete).
    """

    SERVICE = definitions.WPAS
    INTERFACE = definitions.WPAS_INTERFACE
    PROPERTIES = InterfaceProperties
    TIMEOUT_S = _ANSWER_S

    def __init__(self, connection: BusConnection, path: str, names: dict[str, bytes] | None = None) -> None:
        """For an object path that is known; else use `open`.

        `names` are SSIDs by the BSSs' object paths from earlier reads. They decide which objects are read
        first, and are updated here.
        """
        super().__init__(connection, path)
        self.on_change: Callable[[InterfaceProperties], None] | None = None
        self.on_scan_done: Callable[[bool], None] | None = None
        self.scan_started: float | None = None
        """Loop time at which the running scan was reported; None where there was none."""
        self.last_state = ""
        """The State that was reported last; empty before the first one."""
        self._watches: list[Watch] = []
        self._changes: Watch | None = None
        """The one of them for PropertiesChanged."""
        self._ssids: dict[str, bytes] = {}
        self._names = {} if names is None else names
        self.scans = ScanQueue(self.call)

    @classmethod
    async def open(
        cls, connection: BusConnection, interface: str, names: dict[str, bytes] | None = None
    ) -> Self:
        """Find an interface by its name; raises BusError where there is none."""
        path = await Supplicant(connection).interface(interface)
        return cls(connection, path, names)

    async def subscribe(self) -> None:
        """Subscribe to the signals that `on_change`, `on_scan_done`, `scans` and `find_bss` need."""
        if self._watches:
            return
        outcomes = await asyncio.gather(
            self._subscribe_to_changes(),
            self._subscribe_to_scans(),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    # Each subscription is stored as soon as it exists, so that `close` ends it even if the other one failed.

    async def _subscribe_to_changes(self) -> None:
        self._changes = await self.watch_properties(self._changed)
        self._watches.append(self._changes)

    async def _subscribe_to_scans(self) -> None:
        self._watches.append(await self.watch("ScanDone", self._scan_done))

    def watch_changes(self, handler: Callable[[Signal], None]) -> None:
        """Have each PropertiesChanged from now on passed to `handler` itself. `scan_started` stays then."""
        if self._changes is not None:
            self._changes.handler = handler

    def close(self) -> None:
        """Unsubscribe."""
        self.on_change = self.on_scan_done = None
        if self._changes is not None:
            self._changes.handler = self._changed  # which ignores a signal that is being dispatched
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.drop()

    async def state(self) -> str:
        """The connection's state now, one of definitions.SupplicantState."""
        return await self.get("State", str)

    async def current_bss(self) -> str:
        """The object path of the BSS that it is associated with."""
        return await self.get("CurrentBSS", str)

    async def read_bss(self, path: str) -> Bss | None:
        """A BSS of its list; None if it is no longer in it."""
        properties = await self._bss(path)
        return bss_of(path, properties) if properties else None

    async def networks(self, ssid: Ssid) -> list[Bss]:
        """The access points with that SSID in the supplicant's list, of any age."""
        guessed = [path for path, data in self._names.items() if data == ssid.data]
        paths, early = await asyncio.gather(
            self.get("BSSs", list[str]), asyncio.gather(*map(self._bss, guessed))
        )
        read = dict(zip(guessed, early, strict=True))
        unread = [path for path in paths if path not in self._ssids and path not in read]
        if len(unread) > _FEW:  # of many, only the SSIDs are read
            names = await asyncio.gather(*map(self._ssid_of, unread))
            self._ssids |= {path: name for path, name in zip(unread, names, strict=True) if name is not None}
            unread = []
        wanted = [
            path for path in paths if path in unread or path in read or self._ssids.get(path) == ssid.data
        ]
        late = [path for path in wanted if path not in read]
        read |= zip(late, await asyncio.gather(*map(self._bss, late)), strict=True)
        found = {path: properties for path in wanted if (properties := read[path])}
        self._ssids |= {path: properties.get("SSID", b"") for path, properties in found.items()}
        ours = [path for path in found if self._ssids[path] == ssid.data]
        for path in guessed:
            self._names.pop(path, None)
        self._names |= dict.fromkeys(ours, ssid.data)
        return [bss_of(path, found[path]) for path in ours]

    async def supports(self, suite: str) -> bool:
        """Whether the supplicant and the adapter's driver support a key management suite."""
        capabilities = await self.get("Capabilities", Capabilities)
        return suite in capabilities.get("KeyMgmt", ())

    async def find_bss(self, ssid: Ssid, frequencies: Sequence[int] = ()) -> list[Bss]:
        """Scan for a network by name, hidden or not, and return its access points that were received.

        On the given frequencies, MHz, or on all that the adapter may use. A running scan is
        aborted for it. Raises ScanRefused, BusError, and TimeoutError where no scan ever ends.
        """
        started = await self.scans.run(ssid, frequencies)
        found = await self.networks(ssid)
        return seen_since(found, self._now() - started + _SLACK_S)

    async def all_bss(self) -> list[Bss]:
        """Every access point in the supplicant's list, of any age."""
        paths = await self.get("BSSs", list[str])
        found = []
        for start in range(0, len(paths), _READ_AT_ONCE):
            some = paths[start : start + _READ_AT_ONCE]
            read = await asyncio.gather(*(self._bss(path) for path in some))
            found += [bss_of(path, one) for path, one in zip(some, read, strict=True) if one]
        return found

    async def seen_in_scan(self, ssid: Ssid) -> list[Bss]:
        """The access points with that SSID received since the start of the scan that has just ended."""
        since = self.scan_started
        found = await self.networks(ssid)
        return found if since is None else seen_since(found, self._now() - since + _LATE_S)

    async def forget(self) -> None:
        """Abort the running scan, and flush the BSS list; raises BusError."""
        with contextlib.suppress(BusError):  # none runs
            await self.call("AbortScan")
        await self.call("FlushBSS", "u", [0])

    async def select_network(self, path: str) -> None:
        """Join a network, and disable all others; raises BusError."""
        await self.call("SelectNetwork", "o", [path])

    async def remove_all_networks(self) -> None:
        """Disconnect, and forget every network; raises BusError."""
        await self.call("RemoveAllNetworks")

    async def current_settings(self) -> NetworkSettings:
        """The settings of the network that it is joining or has joined; empty where there is none."""
        path = await self.get("CurrentNetwork", str)
        return {} if path == definitions.NO_OBJECT else await NetworkObject(self.connection, path).settings()

    async def start_over(self) -> None:
        """Disconnect from the access point that the supplicant considers itself associated with, and
        reassociate; raises BusError.
        """
        await self.call("Disconnect")
        await self.call("Reassociate")

    def _scan_done(self, signal: Signal) -> None:
        [complete] = typed(tuple[bool], signal.body)
        self.scans.ended(complete)
        if self.on_scan_done:
            self.on_scan_done(complete)

    def _changed(self, signal: Signal) -> None:
        changed = self.changes(signal.body)
        if changed.get("Scanning") is True:
            self.scan_started = self._now()
        self.last_state = changed.get("State", self.last_state)
        if self.on_change:
            self.on_change(changed)

    async def _bss(self, path: str) -> BssProperties | None:
        try:
            return await BssObject(self.connection, path).get_all()
        except BusError:
            return None  # dropped from the list meanwhile

    async def _ssid_of(self, path: str) -> bytes | None:
        try:
            return await BssObject(self.connection, path).get("SSID", bytes)
        except BusError:
            return None

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
