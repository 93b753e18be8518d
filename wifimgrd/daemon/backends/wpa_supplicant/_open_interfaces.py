"""The interfaces that were opened before, so that the next attempt asks wpa_supplicant for none of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wifimgrd.bus.connection import BusConnection
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface


@dataclass(frozen=True, slots=True)
class _Opened:
    """An interface that this daemon has registered with one run of wpa_supplicant."""

    owner: str
    """That run, as Registrations has it."""
    signals: SupplicantInterface
    """Subscribed, so that whoever subscribes to the same signals needs no further match rule."""


class OpenInterfaces:
    """wpa_supplicant's object paths of interfaces, by their names. It gives a path to one registration only
    (https://w1.fi/cgit/hostap/tree/wpa_supplicant/dbus/dbus_new.c, wpas_dbus_register_interface); an entry is
    dropped when that ends, or may have ended."""

    def __init__(self, connection: BusConnection) -> None:
        self._connection = connection
        self._opened: dict[str, _Opened] = {}

    def path(self, name: str, owner: str) -> str:
        """The object path of an interface in this run of wpa_supplicant; empty where it is not known."""
        opened = self._opened.get(name)
        return opened.signals.path if opened is not None and opened.owner == owner else ""

    async def add(self, name: str, owner: str, path: str) -> None:
        """Note the path of an interface that was just registered or found; raises BusError, BusClosed,
        TimeoutError."""
        self.drop(name)
        signals = SupplicantInterface(self._connection, path)
        opened = self._opened[name] = _Opened(owner, signals)
        try:
            await signals.subscribe()
        finally:
            if self._opened.get(name) is not opened:  # it was dropped before there was anything to end
                signals.close()
        signals.watch_changes(lambda _: None)

    def drop(self, name: str) -> None:
        """Ask for the path again before the next attempt."""
        self._drop_where(lambda known, _: known == name)

    def drop_path(self, path: str) -> None:
        """The registration with this path has ended."""
        self._drop_where(lambda _, opened: opened.signals.path == path)

    def close(self) -> None:
        """Drop all."""
        self._drop_where(lambda *_: True)

    def _drop_where(self, is_dropped: Callable[[str, _Opened], bool]) -> None:
        for name, opened in list(self._opened.items()):
            if is_dropped(name, opened):
                del self._opened[name]
                opened.signals.close()
