"""Watches the host's wireless interfaces through udev, on the event loop.

An event says where to look; what is told is what is there. So a burst of events costs one look,
and events that were lost cost no more than a look at everything.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from wifimgrd.domain.adapter import Adapter
from wifimgrd.ports import AdapterListener
from wifimgrd.udev import firmware
from wifimgrd.udev.describe import UdevDevice, describe, ifindex, is_station
from wifimgrd.udev.usb import UsbDevices

_log: Any = structlog.get_logger(__name__)

_RECEIVE_BUFFER: Final = 4 << 20
"""Bytes; an event of a USB adapter takes about 2 kB there."""
_SO_RCVBUFFORCE: Final = 33
"""asm-generic/socket.h; Python has no name for it."""
_EVENTS_AT_ONCE: Final = 512
"""After so many the event loop has its turn."""
_RETRY_S: Final = 5.0
"""Between attempts to reach a udev that is not there."""
_UDEVD: Final = Path("/run/udev/control")
"""There while udevd runs; libudev looks at it too."""


@dataclass(frozen=True, slots=True)
class _Present:
    ifindex: int
    adapter: Adapter


class UdevAdapterSource:
    """Implements `AdapterSource` (wifimgrd.ports): every wireless interface, on USB or not.

    A rename tells the old name gone and the new one present; so does another adapter that
    takes a name over. Where udev cannot be reached nothing is told, and it is tried again.
    """

    def __init__(self, udevd: Path = _UDEVD) -> None:
        """`udevd` is a file that is there while udevd runs."""
        self._udevd = udevd
        self._usb = UsbDevices()
        self._listener: AdapterListener | None = None
        self._context: Any = None
        self._monitor: Any = None
        self._retry: asyncio.TimerHandle | None = None
        self._known: dict[str, _Present] = {}
        self._trouble = ""
        """What is told of udev once, not at each attempt."""

    async def start(self, listener: AdapterListener) -> None:
        """Subscribe, then tell of every adapter that is there; never raises for a missing udev."""
        self._listener = listener
        self._subscribe()

    async def replug(self, name: str) -> None:
        """Take an adapter off the USB bus and give it back; raises OSError."""
        await asyncio.to_thread(self._usb.replug, name)

    async def stop(self) -> None:
        """Stop watching; nothing is told from then on."""
        self._listener = None
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self._unsubscribe()
        self._context = None
        self._known.clear()

    def _subscribe(self) -> None:
        """Subscribe, then look at everything: what comes in between is seen twice, never missed."""
        self._retry = None
        try:
            self._context = self._context or _new_context()
            self._monitor = self._new_monitor()
        except (ImportError, OSError) as error:
            # pyudev raises ImportError where libudev is missing.
            self._troubled(f"udev cannot be reached, adapters are not seen: {error}")
            return
        asyncio.get_running_loop().add_reader(self._monitor.fileno(), self._read)
        if self._udevd.exists():
            self._trouble = ""
        else:
            # libudev's monitor may stay deaf when udevd comes later: another one is needed then.
            self._troubled("udevd is not running, adapters are seen late")
        self._look_at_everything()

    def _troubled(self, trouble: str) -> None:
        if trouble != self._trouble:
            _log.warning(trouble)
        self._trouble = trouble
        self._retry = asyncio.get_running_loop().call_later(_RETRY_S, self._subscribe_again)

    def _subscribe_again(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        self._unsubscribe()
        self._subscribe()

    def _new_monitor(self) -> Any:
        import pyudev  # noqa: PLC0415 - a host without libudev still gets a daemon

        monitor = pyudev.Monitor.from_netlink(self._context, "udev")
        monitor.filter_by("net", "wlan")
        monitor.filter_by("rfkill")
        monitor.filter_by(firmware.SUBSYSTEM)
        _enlarge_buffer(monitor.fileno())
        monitor.start()
        return monitor

    def _unsubscribe(self) -> None:
        if self._monitor is not None:
            asyncio.get_running_loop().remove_reader(self._monitor.fileno())
            self._monitor = None

    def _read(self) -> None:
        """Take what udev has to say; one readiness may stand for many events."""
        touched: dict[str, int | None] = {}
        failing: list[str] = []
        try:
            for _ in range(_EVENTS_AT_ONCE):
                if (device := self._monitor.poll(0)) is None:
                    break
                self._take(device, touched, failing)
        except OSError as error:
            # ENOBUFS: events were lost. Whatever else it is, a new monitor is the answer too.
            _log.warning("events of udev were lost, looking at everything", reason=str(error))
            self._subscribe_again()
            if self._listener is not None:
                self._listener.adapters_recounted()
        else:
            self._look_at(touched)
        for path in failing:
            self._tell_failing(path)

    def _take(self, device: UdevDevice, touched: dict[str, int | None], failing: list[str]) -> None:
        """Note where one event says to look: name -> the ifindex that was removed there, or None; and which
        device failed."""
        if device.subsystem == firmware.SUBSYSTEM:
            if (path := firmware.failing_device(device)) is not None:
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
        except UnicodeDecodeError:  # no name that can be shown or sent: not to be used
            return

    def _look_at(self, touched: Mapping[str, int | None]) -> None:
        found: dict[str, _Present | None] = {}
        for name, removed in touched.items():
            now = self._find(name)
            # The kernel says `remove` a moment before the folder in sysfs is gone.
            if now is not None and removed is not None and removed in (0, now.ifindex):
                now = None
            found[name] = now
        self._tell(found)

    def _look_at_everything(self) -> None:
        try:
            names = {
                device.sys_name for device in self._context.list_devices(subsystem="net", DEVTYPE="wlan")
            }
        except (OSError, UnicodeDecodeError) as error:
            _log.error("udev does not list the network interfaces", reason=str(error))
            return
        self._look_at(dict.fromkeys(sorted(names | self._known.keys())))

    def _find(self, name: str) -> _Present | None:
        """The wireless interface of that name as it is now; None where there is none to be used."""
        import pyudev  # noqa: PLC0415

        try:
            device = pyudev.Devices.from_name(self._context, "net", name)
            # udev tells of it once it is done with it; only without udevd is there no sense in waiting.
            if not is_station(device) or not (device.is_initialized or not self._udevd.exists()):
                return None
            return _Present(ifindex(device), describe(device))
        except pyudev.DeviceNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _log.warning("an interface cannot be described", interface=name, reason=str(error))
            return None

    def _tell_failing(self, path: str) -> None:
        """Tell of the adapter whose firmware crashed, where it is one, by each of its interfaces."""
        import pyudev  # noqa: PLC0415

        for name in list(self._known):
            try:
                interface = pyudev.Devices.from_name(self._context, "net", name)
            except pyudev.DeviceNotFoundError:  # its `remove` is under way
                continue
            if self._listener is not None and firmware.is_part_of(path, interface):
                self._listener.adapter_firmware_failed(name)

    def _tell(self, found: Mapping[str, _Present | None]) -> None:
        """Tell what is not as it was: first all that is gone, then all that is there."""
        listener = self._listener
        if listener is None:
            return
        for name, now in found.items():
            before = self._known.get(name)
            if before is not None and (now is None or now.ifindex != before.ifindex):
                del self._known[name]
                listener.adapter_gone(name)
        for name, now in found.items():
            if now is not None and self._known.get(name) != now:
                self._known[name] = now
                listener.adapter_present(now.adapter)


def _enlarge_buffer(fd: int) -> None:
    """Make room for bursts. pyudev's own way takes libudev's "changed" for an error.

    SO_RCVBUFFORCE needs CAP_NET_ADMIN; SO_RCVBUF goes as far as net.core.rmem_max: socket(7).
    """
    with socket.socket(fileno=os.dup(fd)) as sock:
        try:
            sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)
        except PermissionError:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)


def _new_context() -> Any:
    import pyudev  # noqa: PLC0415

    return pyudev.Context()
