"""Run inside the daemon's sandbox, as its user, on the emulated USB machine: starts the product's source of
adapters, takes the recovery steps in $STEPS, such as "reset 1-1.1,power 1-2.1", and prints what came of each
as a line of JSON.

The adapters there are no Wi-Fi: a folder stands in for sysfs that shows them with a radio, and the source
takes them all the same. All else is the product's own.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pyudev

from wifimgrd.daemon.store import SqliteStore
from wifimgrd.daemon.udev import UdevAdapterSource, UsbDevices, UsbPorts, _source
from wifimgrd.daemon.udev._usb_ports import PortTimes
from wifimgrd.domain.adapter import Adapter

STAND_IN = Path("/run/stand-in")


class Events:
    """What the source reports."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def adapter_present(self, adapter: Adapter) -> None:
        """See AdapterListener."""
        self.told.append(f"{adapter.identity.usb_port} present")

    def adapter_gone(self, name: str) -> None:
        """See AdapterListener."""
        self.told.append(f"{name} gone")

    def adapter_firmware_failed(self, name: str) -> None:
        """See AdapterListener."""

    def adapters_recounted(self) -> None:
        """See AdapterListener."""


def take_any_interface() -> None:
    """Take what is no Wi-Fi."""
    filter_by = pyudev.Monitor.filter_by
    pyudev.Monitor.filter_by = lambda self, subsystem, _=None: filter_by(self, subsystem)
    pyudev.Context.list_devices = _list_devices(pyudev.Context.list_devices)
    vars(_source)["is_wireless"] = lambda device: device.sys_name.startswith("usb")


def _list_devices(original: Any) -> Any:
    return lambda self, subsystem, **_: original(self, subsystem=subsystem)


def interface_in(port: str) -> str:
    """The interface of the device in a port."""
    return next(Path("/sys/bus/usb/devices", port).glob("*/net/*")).name


def said(error: OSError) -> str:
    """An error in words."""
    return f"{type(error).__name__}: {error.strerror or error}"


def opened(port: str) -> str:
    """Whether the node of a device in a port can be opened to command it."""
    number = int(Path("/sys/bus/usb/devices", port, "devnum").read_text())
    try:
        os.close(os.open(f"/dev/bus/usb/001/{number:03}", os.O_RDWR))
    except OSError as error:
        return said(error)
    return ""


async def take(source: UdevAdapterSource, what: str, port: str) -> str:
    """Take a step; why it has failed, if it has."""
    if what == "open":
        return opened(port)
    step = {"reset": source.reset_port, "power": source.power_port}[what]
    taking = asyncio.create_task(step(interface_in(port)))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, taking.cancel)
    try:
        await taking
    except OSError as error:
        return said(error)
    except asyncio.CancelledError:
        return "cancelled"
    return ""


async def main() -> None:
    """Start, take the steps, stop."""
    times = PortTimes(off_s=float(os.environ["OFF_S"]), return_s=float(os.environ["RETURN_S"]))
    named = os.environ["NAMED"].split()
    store = await SqliteStore.open(Path(os.environ["STATE_DIRECTORY"]))
    await store.load()
    source = UdevAdapterSource(UsbPorts(UsbDevices(STAND_IN), store, lambda: named, times))
    events = Events()
    try:
        await source.start(events)
        for what, port in (step.split() for step in os.environ["STEPS"].split(",")):
            events.told.clear()
            failed = await take(source, what, port)
            line = {"step": f"{what} {port}", "failed": failed, "events": events.told}
            sys.stdout.write(json.dumps(line) + "\n")
    finally:
        await source.stop()
        await store.close()


if __name__ == "__main__":
    take_any_interface()
    asyncio.run(main())
