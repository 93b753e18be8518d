"""Recovery steps on the USB port of an adapter: a reset, and power off and on.

A port that is to be without power for a moment is noted on disk before, and switched on by the daemon's next
start if this one does not live to do it. Threads do what blocks, since the kernel's disconnect of a device
waits for its driver: one that was started goes on to its end, which is that the port has power. A step is not
over before its thread is: until then, nobody may use the adapter.
"""

from __future__ import annotations

import asyncio
import errno
import re
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import structlog

from wifimgrd.daemon.ports import BackendMemory
from wifimgrd.daemon.udev._usb import UsbDevices
from wifimgrd.domain.device_values import USB_PORT_PATTERN
from wifimgrd.domain.errors import WifimgrdError

_log = structlog.get_logger()

_KEY: Final = "usb-ports-off"
"""The ports without power, separated by blanks."""
_AGAIN_S: Final = 0.1


class PortMemory(BackendMemory, Protocol):
    """A memory that can be waited for."""

    async def flush(self) -> None:
        """Return once everything is on disk that was noted; raises StoreError."""


@dataclass(frozen=True, slots=True)
class PortTimes:
    """Time limits of the steps, in seconds."""

    node_s: float = 5.0
    """udev makes the node of a device the daemon's some 0.3 s after it was enumerated."""
    note_s: float = 5.0
    """The disk takes a note."""
    off_s: float = 3.0
    """So long a port is without power: capacitors keep an adapter going for a while."""
    switch_s: float = 15.0
    """Ports are switched on at the start."""
    return_s: float = 20.0
    """The adapter is enumerated, its firmware loaded, and its interface reported by udev."""
    stop_s: float = 4.0
    """A stop waits for ports that are being switched on."""


@dataclass(frozen=True, slots=True)
class Comeback:
    """How an adapter is there again after a step."""

    ports: Collection[str]
    """It is in one of these."""
    is_new: bool = False
    """It is a new device in any case; else its driver may have kept the interface."""


class UsbPorts:
    """The steps on the USB ports of this host."""

    def __init__(
        self,
        devices: UsbDevices,
        memory: PortMemory,
        named: Callable[[], Collection[str]],
        times: PortTimes | None = None,
    ) -> None:
        """`named` returns the ports whose power may be switched: `[recovery] power_ports`."""
        self.devices = devices
        self.times = times or PortTimes()
        self._memory = memory
        self._named = named
        self._off: set[str] = set()
        """The ports that are noted."""
        self._cycles: dict[asyncio.Future[tuple[OSError | None, list[str]]], threading.Event] = {}
        """The threads that switch ports, each with what makes it switch them on at once."""

    async def restore(self) -> None:
        """Switch on the ports that an earlier run has left without power."""
        noted = self._memory.recall(_KEY)
        if noted is None:
            return
        ports = [port for port in noted.split() if re.fullmatch(USB_PORT_PATTERN, port)]
        self._off.update(ports)
        try:
            async with asyncio.timeout(self.times.switch_s):
                errors = await asyncio.to_thread(self._switch_on, ports)
        except TimeoutError:
            errors = dict.fromkeys(ports, "it took too long")
        for port, error in errors.items():
            if error:  # the next start tries again
                _log.warning("usb_port_left_off", port=port, reason=error)
            else:
                _log.info("usb_port_on", port=port)
        self._note(off=[port for port in ports if errors[port]], of=ports)

    async def stop(self) -> None:
        """Switch on at once what is off, and wait for it."""
        for hurry in self._cycles.values():
            hurry.set()
        if self._cycles:
            await asyncio.wait(self._cycles, timeout=self.times.stop_s)

    async def reset(self, port: str) -> Comeback:
        """Reset a port, once udev has made its node this user's; raises OSError. The kernel tries several
        times to reset a device that does not answer."""
        for _ in range(round(self.times.node_s / _AGAIN_S)):
            if self.devices.can_reset(port):
                break
            await asyncio.sleep(_AGAIN_S)
        is_same = await asyncio.to_thread(self.devices.reset, port)
        return Comeback({port}, is_new=not is_same)

    async def cycle(self, port: str) -> Comeback:
        """Switch the power of a named port off and on, and that of the port's other half, in which the
        adapter may be afterwards; raises OSError."""
        halves = await asyncio.to_thread(self._halves, port)
        await self._write_down(halves)
        hurry = threading.Event()
        switch = partial(self._cycle, halves, hurry)
        running = asyncio.get_running_loop().run_in_executor(None, switch)
        self._cycles[running] = hurry
        running.add_done_callback(partial(self._cycled, halves))
        try:
            failed, _ = await asyncio.shield(running)
        finally:
            hurry.set()
        if failed is not None:
            raise failed
        _log.info("usb_port_switched", ports=halves)
        return Comeback(halves)

    async def _write_down(self, ports: Collection[str]) -> None:
        """Note on disk that ports are to be off; raises OSError, and then they are not noted."""
        self._note(off=ports, of=ports)
        try:
            async with asyncio.timeout(self.times.note_s):
                await self._memory.flush()
        except BaseException as failed:
            self._note(off=(), of=ports)
            if not isinstance(failed, WifimgrdError | TimeoutError):
                raise
            why = f"a USB port stays on whose power cut cannot be noted: {failed or 'the disk is too slow'}"
            raise OSError(errno.EIO, why) from None

    def _halves(self, port: str) -> list[str]:
        """The ports to switch, in this order off: the half that holds no adapter first, so that this one does
        not move there."""
        other, named = self.devices.other_half(port), self._named()
        halves = [port] if other is None else [other, port]
        for half in halves:
            if half not in named:
                why = f"the USB port {half} is not one of `power_ports`"
                if half != port:
                    why = f"the USB port {port} keeps its power through its other half: {why}"
                raise PermissionError(errno.EPERM, why)
        return halves

    def _cycle(self, ports: Sequence[str], hurry: threading.Event) -> tuple[OSError | None, list[str]]:
        """In a thread: the error if there was one, and the ports that are still off."""
        failed: OSError | None = None
        try:
            self.devices.cycle_power(ports, self.times.off_s, hurry)
        except OSError as error:
            failed = error
        return failed, [port for port in ports if self.devices.is_off(port)]

    def _cycled(self, ports: Collection[str], done: asyncio.Future[tuple[OSError | None, list[str]]]) -> None:
        """Note what is off now, whatever became of the caller."""
        del self._cycles[done]
        if done.cancelled() or done.exception() is not None:  # the process ends: the note stays
            return
        _, off = done.result()
        self._note(off=off, of=ports)
        for port in off:
            _log.warning("usb_port_left_off", port=port, reason="it could not be switched on")

    def _note(self, *, off: Collection[str], of: Collection[str]) -> None:
        self._off = (self._off - set(of)) | set(off)
        self._memory.note(_KEY, " ".join(sorted(self._off)) or None)

    def _switch_on(self, ports: Sequence[str]) -> dict[str, str]:
        """In a thread: why each port is still off; empty for one that is on, or gone with its hub."""
        errors = dict.fromkeys(ports, "")
        for port in ports:
            try:
                self.devices.switch(port, on=True)
            except OSError as error:
                if self.devices.is_off(port):
                    errors[port] = error.strerror or str(error)
        return errors
