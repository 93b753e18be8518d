"""wpa_supplicant over D-Bus, beside NetworkManager: scans, what is on the air, and why things happen.

https://w1.fi/wpa_supplicant/devel/dbus.html. Readable by root and, in Debian, by group `netdev`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Self

import structlog

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.air import Bss, bss_of, heard_since
from wifimgrd.backends.networkmanager.following import watch_properties
from wifimgrd.backends.networkmanager.scans import ScanRefused, Scans
from wifimgrd.dbus.bus import BusConnection, BusError, Signal, Watch
from wifimgrd.domain.device import Ssid

_log = structlog.get_logger(__name__)

_FEW: Final = 4
"""So many access points are read whole in one round trip, rather than by name first."""
_ANSWER_S: Final = 5.0
"""How long the supplicant may take to answer."""
_READ_AT_ONCE: Final = 32
"""A message bus bears 128 calls of one client without reply (dbus-daemon(1), max_replies_per_connection)."""
_SLACK_S: Final = 0.05
_LATE_S: Final = 1.0
"""On a busy host, a scan of the supplicant's own is heard to begin this much late. A network that was heard
just before it costs another look, one that is wrongly taken for absent costs the connection."""


class Station:
    """One interface as wpa_supplicant has it; `listen` subscribes, `close` lets go.

    `on_change` gets each PropertiesChanged, `on_scan_done` the end of each scan (True = complete).
    """

    def __init__(self, connection: BusConnection, path: str, names: dict[str, bytes] | None = None) -> None:
        """Of an object that is known; else use `Station.open`.

        `names` are the SSIDs of access points by their objects' paths, as they were met before: a guess
        what to read, kept up to date here.
        """
        self.path = path
        self.on_change: Callable[[Mapping[str, Any]], None] | None = None
        self.on_scan_done: Callable[[bool], None] | None = None
        self.scan_started: float | None = None
        """Loop time at which the scan that runs was first heard of; None where none runs."""
        self._connection = connection
        self._watches: list[Watch] = []
        self._ssids: dict[str, bytes] = {}
        self._names = {} if names is None else names
        self.scans = Scans(self._call)

    @classmethod
    async def open(
        cls, connection: BusConnection, interface: str, names: dict[str, bytes] | None = None
    ) -> Self:
        """Find an interface by its name; raises BusError where there is none."""
        path = (
            await connection.call(
                defs.WPAS, defs.WPAS_PATH, defs.WPAS, "GetInterface", "s", [interface], _ANSWER_S
            )
        )[0]
        return cls(connection, path, names)

    async def listen(self) -> None:
        """Subscribe, for `on_change`, `on_scan_done`, `scans` and `look`."""
        if self._watches:
            return
        connection = self._connection
        outcomes = await asyncio.gather(
            self._keep(
                watch_properties(connection, defs.WPAS, self.path, defs.WPAS_INTERFACE, self._changed)
            ),
            self._keep(
                connection.watch(
                    self._scan_done,
                    sender=defs.WPAS,
                    path=self.path,
                    interface=defs.WPAS_INTERFACE,
                    member="ScanDone",
                )
            ),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _keep(self, watching: Awaitable[Watch]) -> None:
        """Each is kept as soon as it is there, for `close`, also where the wait for the other is given up."""
        watch = await watching
        self._watches.append(watch)

    def close(self) -> None:
        """Stop listening."""
        self.on_change = self.on_scan_done = None
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.drop()

    async def state(self) -> str:
        """The connection's state now, one of defs.SupplicantState."""
        return str(await self._get("State"))

    async def networks(self, ssid: Ssid) -> list[Bss]:
        """The access points of that name in the supplicant's list, however long ago they were heard."""
        guessed = [path for path, octets in self._names.items() if octets == ssid.octets]
        paths, *early = await asyncio.gather(self._get("BSSs"), *map(self._bss, guessed))
        read = dict(zip(guessed, early, strict=True))
        unread = [path for path in paths if path not in self._ssids and path not in read]
        if len(unread) > _FEW:  # of many, the names alone are read
            names = await asyncio.gather(*(self._bss(path, "SSID") for path in unread))
            self._ssids |= {
                path: bytes(name) for path, name in zip(unread, names, strict=True) if name is not None
            }
            unread = []
        wanted = [
            path for path in paths if path in unread or path in read or self._ssids.get(path) == ssid.octets
        ]
        late = [path for path in wanted if path not in read]
        read |= zip(late, await asyncio.gather(*map(self._bss, late)), strict=True)
        found = {path: properties for path in wanted if (properties := read[path])}
        self._ssids |= {path: bytes(properties["SSID"]) for path, properties in found.items()}
        ours = [path for path in found if self._ssids[path] == ssid.octets]
        for path in guessed:
            self._names.pop(path, None)
        self._names |= dict.fromkeys(ours, ssid.octets)
        return [bss_of(path, found[path]) for path in ours]

    async def look(self, ssid: Ssid, frequencies: Sequence[int] = ()) -> list[Bss]:
        """Scan for a network by name, hidden or not, and return its access points that were heard.

        On the given frequencies, MHz, or on all that the adapter may use. A scan that runs is
        ended for it. Raises ScanRefused, BusError, and TimeoutError where no scan ever ends.
        """
        started = await self.scans.run(ssid, frequencies)
        found = await self.networks(ssid)
        return heard_since(found, self._now() - started + _SLACK_S)

    async def search(self, ssid: Ssid, frequencies: Sequence[int]) -> list[Bss]:
        """Look on the given frequencies, then on all; returns what the first look found that found any.

        Raises ScanRefused where not even the whole air can be searched, else as `look` does.
        """
        for channels in dict.fromkeys((tuple(frequencies), ())):
            try:
                points = await self.look(ssid, channels)
            except ScanRefused as error:
                _log.warning("scan_refused", path=self.path, channels=channels or "all", error=str(error))
                if not channels:
                    raise
                continue
            _log.debug("looked", path=self.path, channels=channels or "all", found=len(points))
            if points:
                return points
        return []

    async def everything(self) -> list[Bss]:
        """Every access point in the supplicant's list, however long ago it was heard."""
        paths = await self._get("BSSs")
        found = []
        for start in range(0, len(paths), _READ_AT_ONCE):
            some = paths[start : start + _READ_AT_ONCE]
            read = await asyncio.gather(*(self._bss(path) for path in some))
            found += [bss_of(path, one) for path, one in zip(some, read, strict=True) if one]
        return found

    async def heard_in_scan(self, ssid: Ssid) -> list[Bss]:
        """The access points of that name heard since the scan began that just ended."""
        since = self.scan_started
        found = await self.networks(ssid)
        return found if since is None else heard_since(found, self._now() - since + _LATE_S)

    async def forget(self) -> None:
        """End the scan that runs, and forget what was heard; raises BusError."""
        with contextlib.suppress(BusError):  # none runs
            await self._call("AbortScan")
        await self._call("FlushBSS", "u", [0])

    async def start_over(self) -> None:
        """Leave the access point that the supplicant takes to be there, and join the network anew; raises
        BusError.
        """
        await self._call("Disconnect")
        await self._call("Reassociate")

    def _scan_done(self, signal: Signal) -> None:
        complete = bool(signal.body[0])
        self.scans.ended(complete)
        if self.on_scan_done:
            self.on_scan_done(complete)

    def _changed(self, signal: Signal) -> None:
        changed: Mapping[str, Any] = signal.body[1]
        if changed.get("Scanning") is True:
            self.scan_started = self._now()
        if self.on_change:
            self.on_change(changed)

    async def _call(
        self,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
        on_reply: Callable[[list[Any]], None] | None = None,
    ) -> None:
        await self._connection.call(
            defs.WPAS, self.path, defs.WPAS_INTERFACE, member, signature, body, _ANSWER_S, on_reply
        )

    async def _get(self, name: str) -> Any:
        return await self._connection.get(defs.WPAS, self.path, defs.WPAS_INTERFACE, name)

    async def _bss(self, path: str, name: str | None = None) -> Any:
        try:
            if name:
                return await self._connection.get(defs.WPAS, path, defs.WPAS_BSS, name)
            return await self._connection.get_all(defs.WPAS, path, defs.WPAS_BSS)
        except BusError:
            return None  # dropped from the list meanwhile

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
