"""Watch the host's wireless interfaces through udev, on the event loop.

An event only names an interface to read; the current state that is read is what is reported. So a burst of
events costs one read, and lost events cost no more than an enumeration.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

import structlog

from wifimgrd.daemon.ports import AdapterListener
from wifimgrd.daemon.udev._describe import (
    UdevDevice,
    describe,
    failing_device,
    ifindex,
    is_part_of,
    is_wireless,
)
from wifimgrd.daemon.udev._usb_ports import Comeback, UsbPorts
from wifimgrd.domain.adapter import Adapter
from wifimgrd.kernel.events import Event, NetworkEvents, Topic
from wifimgrd.kernel.links import Link
from wifimgrd.kernel.nl80211 import watch_interfaces
from wifimgrd.kernel.subscription import Subscription

_log = structlog.get_logger(__name__)

_RECEIVE_BUFFER: Final = 4 << 20
"""Bytes; an event of a USB adapter takes about 2 kB there."""
_SO_RCVBUFFORCE: Final = 33
"""asm-generic/socket.h; Python has no name for it."""
_EVENTS_AT_ONCE: Final = 512
"""Events per callback, before the event loop runs other callbacks."""
_RETRY_S: Final = 5.0
"""Between attempts to connect where udev is not running."""
_UNSWITCHED: Final = (
    ": its hub may not switch the power of a single port; unplug the adapter and plug it in, and take the"
    " port out of `power_ports`"
)
_UDEVD: Final = Path("/run/udev/control")
"""Exists while udevd runs; libudev checks it too."""
_DUMPS: Final = "devcoredump"
"""The class in which a memory dump appears when firmware crashes, as drivers report it. The kernel creates
one dump per device at a time, and keeps it until it is read, for five minutes at most:
https://elixir.bootlin.com/linux/v6.1/source/drivers/base/devcoredump.c. The dump itself is not read here."""


class _Context(Protocol):
    """The part of `pyudev.Context` that is used here; pyudev ships no types."""

    def list_devices(self, **conditions: str) -> Iterable[UdevDevice]:
        """The devices that match."""


class _Monitor(Protocol):
    """The part of `pyudev.Monitor` that is used here."""

    def fileno(self) -> int:
        """The descriptor of its socket."""

    def filter_by(self, subsystem: str, device_type: str | None = None) -> None:
        """Receive events of this kind, too."""

    def start(self) -> None:
        """Receive events from now on."""

    def poll(self, timeout_s: float) -> UdevDevice | None:
        """The next event."""


@dataclass(frozen=True, slots=True)
class _Present:
    ifindex: int
    adapter: Adapter

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that it may share with other interfaces: its radio and its USB device."""
        return tuple(filter(None, {self.adapter.radio, self.adapter.identity.usb_port}))

    def is_in(self, usb_port: str) -> bool:
        """Whether it is in a USB port."""
        return self.adapter.identity.usb_port == usb_port


class UdevAdapterSource:
    """Implements `AdapterSource` (wifimgrd.daemon.ports): every wireless interface, on USB or not.

    A rename is reported as the old name gone and the new one present, and so is another adapter under a
    known name. Where udev cannot be reached, nothing is reported, and the connection is retried.

    What an interface is and whether it uses its radio are the kernel's to report; udev has no event for that.
    """

    def __init__(self, ports: UsbPorts, udevd: Path = _UDEVD) -> None:
        """`udevd` is a file that exists while udevd runs."""
        self._ports = ports
        self._udevd = udevd
        self._listener: AdapterListener | None = None
        self._context: _Context | None = None
        self._monitor: _Monitor | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._links = NetworkEvents(Topic.LINKS, self._link_changed, self._read_known)
        self._modes: Subscription | None = None
        """Opened with the first interface: before that, the kernel may have no Wi-Fi."""
        self._known: dict[str, _Present] = {}
        self._told: dict[str, tuple[int, bytes, bytes]] = {}
        """The relevant part of the kernel's last message about each interface."""
        self._reported = asyncio.Event()
        """Set by each report of an interface that is present."""
        self._touched: dict[str, None] = {}
        """Interfaces to read when the messages that have come are taken."""
        self._trouble = ""
        """The last logged problem with udev: it is logged once, not at each attempt."""

    async def start(self, listener: AdapterListener) -> None:
        """Subscribe, then report every adapter that is present; never raises for a missing udev."""
        await self._ports.restore()
        self._listener = listener
        try:
            self._links.open()
        except OSError as error:
            _log.warning("links_not_watched", reason=str(error))
        self._subscribe()

    async def reset_port(self, name: str) -> None:
        """See AdapterSource.reset_port."""
        await self._step(name, self._ports.reset)

    async def power_port(self, name: str) -> None:
        """See AdapterSource.power_port."""
        await self._step(name, self._ports.cycle, _UNSWITCHED)

    async def _step(self, name: str, step: Callable[[str], Awaitable[Comeback]], hint: str = "") -> None:
        """Carry a step out on the port of an adapter, and return once its interface is reported, which is a
        new one unless its driver has kept it."""
        usb, limit_s = self._ports.devices, self._ports.times.return_s
        port = usb.port_of(name)
        before = {usb.index_of(name)} | {known.ifindex for known in self._known.values() if known.is_in(port)}
        expected = await step(port)

        def is_back() -> bool:
            if not expected.is_new and name in self._known and usb.index_of(name) in before:
                return True
            present = (known for known in self._known.values() if any(map(known.is_in, expected.ports)))
            return any(known.ifindex not in before for known in present)

        try:
            async with asyncio.timeout(limit_s):
                while not is_back():
                    self._reported.clear()
                    await self._reported.wait()
        except TimeoutError:
            why = f"no adapter has come back in the USB port {port} within {limit_s:g} s{hint}"
            raise OSError(errno.ETIMEDOUT, why) from None

    async def stop(self) -> None:
        """Stop watching; nothing is reported from then on."""
        await self._ports.stop()
        self._listener = None
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self._unsubscribe()
        self._links.close()
        if self._modes is not None:
            self._modes.close()
            self._modes = None
        self._context = None
        self._known.clear()
        self._told.clear()

    def _subscribe(self) -> None:
        """Subscribe, then enumerate: a change between the two is read twice, never missed."""
        self._retry = None
        try:
            context = self._context = self._context or _new_context()
            self._monitor = self._new_monitor(context)
        except (ImportError, OSError) as error:
            # pyudev raises ImportError where libudev is missing.
            self._failing(f"udev cannot be reached, so adapters are not detected: {error}")
            return
        asyncio.get_running_loop().add_reader(self._monitor.fileno(), self._read)
        if self._udevd.exists():
            self._trouble = ""
        else:
            # libudev's monitor may receive nothing when udevd starts later: then a new one is needed.
            self._failing("udevd is not running, so adapters are detected late")
        self._enumerate(context)

    def _failing(self, trouble: str) -> None:
        if trouble != self._trouble:
            _log.warning("udev_unavailable", reason=trouble)
        self._trouble = trouble
        self._retry = asyncio.get_running_loop().call_later(_RETRY_S, self._subscribe_again)

    def _subscribe_again(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        self._unsubscribe()
        self._subscribe()

    def _new_monitor(self, context: _Context) -> _Monitor:
        import pyudev  # noqa: PLC0415 - a host without libudev still gets a daemon

        monitor: _Monitor = pyudev.Monitor.from_netlink(context, "udev")
        monitor.filter_by("net", "wlan")
        monitor.filter_by("rfkill")
        monitor.filter_by(_DUMPS)
        _enlarge_buffer(monitor.fileno())
        monitor.start()
        return monitor

    def _unsubscribe(self) -> None:
        if self._monitor is not None:
            asyncio.get_running_loop().remove_reader(self._monitor.fileno())
            self._monitor = None

    def _read(self) -> None:
        """Read the pending events; the socket becomes readable once for many of them."""
        monitor = self._monitor
        if monitor is None:
            return
        touched: dict[str, int | None] = {}
        failing: list[str] = []
        try:
            for _ in range(_EVENTS_AT_ONCE):
                if (device := monitor.poll(0)) is None:
                    break
                self._take(device, touched, failing)
        except OSError as error:
            # ENOBUFS: events were lost. For any other error, a new monitor is the remedy too.
            _log.warning("udev_events_lost", reason=str(error))
            self._subscribe_again()
            if self._listener is not None:
                self._listener.adapters_recounted()
        else:
            self._describe(touched)
        for path in failing:
            self._report_failing(path)

    def _take(self, device: UdevDevice, touched: dict[str, int | None], failing: list[str]) -> None:
        """Record the interface of one event, name -> the ifindex that was removed, or None; or the path of a
        device that failed."""
        if device.subsystem == _DUMPS:
            if (path := failing_device(device)) is not None:
                failing.append(path)
            return
        if device.subsystem == "rfkill":
            for name in self._known:
                touched.setdefault(name, None)
            return
        try:
            name = str(device.sys_name)
            touched[name] = ifindex(device) if device.action == "remove" else None
            if old := device.properties.get("DEVPATH_OLD"):
                touched[old.rpartition("/")[2]] = None
        except UnicodeDecodeError:  # a name that is not UTF-8 can be neither shown nor sent: ignored
            return

    def _describe(self, touched: Mapping[str, int | None]) -> None:
        found: dict[str, _Present | None] = {}
        for name, removed in touched.items():
            now = self._find(name)
            # The kernel sends `remove` a moment before the directory in sysfs is gone.
            if now is not None and removed is not None and removed in (0, now.ifindex):
                now = None
            found[name] = now
        present = {name: now for name, now in {**self._known, **found}.items() if now is not None}
        parts = Counter(part for now in present.values() for part in now.parts)
        for name, known in present.items():
            if any(parts[part] > 1 for part in known.parts):
                found[name] = found[name] if name in found else self._find(name)
            elif known.adapter.is_active:
                found[name] = replace(known, adapter=replace(known.adapter, is_active=False))
        self._report(found)
        if self._known and self._modes is None:
            self._modes = watch_interfaces(self._mode_changed, self._read_known)

    def _link_changed(self, event: Event) -> None:
        """Read an interface after messages about it, once for all that come together.

        A join makes about ten of them, and most say nothing new; a read takes as long as the join waits for
        this process in all else. Whether an interface is in use matters only where it shares its radio.
        """
        match event:
            case Event(Link(name, index) as link, is_gone=False) if name in self._known:
                told = index, link.identity, link.use if self._shares(name) else b""
                before, self._told[name] = self._told.get(name), told
                if before == told and self._modes is not None:
                    return
                if not self._touched:
                    asyncio.get_running_loop().call_soon(self._read_touched)
                self._touched[name] = None

    def _shares(self, name: str) -> bool:
        """Whether an interface has a radio or a USB device together with another one."""
        parts = set(self._known[name].parts)
        others = (known for other, known in self._known.items() if other != name)
        return any(not parts.isdisjoint(known.parts) for known in others)

    def _read_touched(self) -> None:
        touched, self._touched = self._touched, {}
        self._describe({name: None for name in touched if name in self._known})

    def _mode_changed(self, index: int) -> None:
        names = [name for name, known in self._known.items() if known.ifindex == index]
        self._describe(dict.fromkeys(names))

    def _read_known(self) -> None:
        self._told.clear()  # messages were lost
        self._describe(dict.fromkeys(self._known))

    def _enumerate(self, context: _Context) -> None:
        try:
            names = {device.sys_name for device in context.list_devices(subsystem="net", DEVTYPE="wlan")}
        except (OSError, UnicodeDecodeError) as error:
            _log.error("udev_unreadable", reason=str(error))
            return
        self._describe(dict.fromkeys(sorted(names | self._known.keys())))

    def _find(self, name: str) -> _Present | None:
        """The current state of a wireless interface; None where there is none that can be used."""
        import pyudev  # noqa: PLC0415

        try:
            device = pyudev.Devices.from_name(self._context, "net", name)
            # udev sends an event once it has initialized the device; without udevd there is none to wait for.
            if not is_wireless(device) or not (device.is_initialized or not self._udevd.exists()):
                return None
            return _Present(ifindex(device), describe(device))
        except pyudev.DeviceNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _log.warning("interface_unreadable", interface=name, reason=str(error))
            return None

    def _report_failing(self, path: str) -> None:
        """Report each interface of the adapter whose firmware crashed."""
        import pyudev  # noqa: PLC0415

        for name in list(self._known):
            try:
                interface = pyudev.Devices.from_name(self._context, "net", name)
            except pyudev.DeviceNotFoundError:  # its `remove` is under way
                continue
            if self._listener is not None and is_part_of(path, interface):
                self._listener.adapter_firmware_failed(name)

    def _report(self, found: Mapping[str, _Present | None]) -> None:
        """Report the changes: first the interfaces that are gone, then those that are present."""
        listener = self._listener
        if listener is None:
            return
        for name, now in found.items():
            before = self._known.get(name)
            if before is not None and (now is None or now.ifindex != before.ifindex):
                del self._known[name]
                self._told.pop(name, None)
                listener.adapter_gone(name)
        for name, now in found.items():
            if now is not None and self._known.get(name) != now:
                self._known[name] = now
                self._reported.set()
                listener.adapter_present(now.adapter)


def _enlarge_buffer(fd: int) -> None:
    """Enlarge the receive buffer for bursts. pyudev's own method treats libudev's "changed" as an error.

    SO_RCVBUFFORCE needs CAP_NET_ADMIN; SO_RCVBUF goes as far as net.core.rmem_max: socket(7).
    """
    with socket.socket(fileno=os.dup(fd)) as sock:
        try:
            sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)
        except PermissionError:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)


def _new_context() -> _Context:
    import pyudev  # noqa: PLC0415

    context: _Context = pyudev.Context()
    return context
