"""A host of the test's own: USB adapters, radios and rfkill switches by umockdev."""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wifimgrd.domain.adapter import Adapter

_ifindexes = itertools.count(900_001)
"""Not those of this host's own interfaces, whose data udev may keep."""


def _library() -> Any:
    """https://github.com/martinpitt/umockdev/blob/main/src/umockdev.vala"""
    library = ctypes.CDLL("libumockdev.so.0")
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    texts = ctypes.POINTER(text)
    for name, result, arguments in (
        ("new", pointer, []),
        ("get_root_dir", text, [pointer]),
        ("add_devicev", text, [pointer, text, text, text, texts, texts]),
        ("remove_device", None, [pointer, text]),
        ("set_attribute", None, [pointer, text, text, text]),
        ("set_attribute_binary", None, [pointer, text, text, text, ctypes.c_int]),
        ("set_attribute_link", None, [pointer, text, text, text]),
        ("set_property", None, [pointer, text, text, text]),
        ("uevent", None, [pointer, text, text]),
    ):
        function = getattr(library, f"umockdev_testbed_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def _pairs(values: Mapping[str, str]) -> Any:
    flat = [text.encode() for pair in values.items() for text in pair]
    return (ctypes.c_char_p * (len(flat) + 1))(*flat, None)


class FakeHost:
    """The fake host. Its devices stand in /sys of this process alone."""

    def __enter__(self) -> Self:
        self._library = _library()
        self._testbed = self._library.umockdev_testbed_new()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        gobject = ctypes.CDLL("libgobject-2.0.so.0")
        gobject.g_object_unref.argtypes = [ctypes.c_void_p]
        gobject.g_object_unref(self._testbed)

    def call(self, name: str, *arguments: Any) -> Any:
        """One of umockdev's functions; text goes as text."""
        plain = [part.encode() if isinstance(part, str) else part for part in arguments]
        return getattr(self._library, f"umockdev_testbed_{name}")(self._testbed, *plain)

    def add(
        self,
        subsystem: str,
        name: str,
        parent: str | None,
        attributes: Mapping[str, str],
        properties: Mapping[str, str],
    ) -> str:
        """Add a device; returns its path in sysfs. udev reports it as `add`."""
        path = self.call("add_devicev", subsystem, name, parent, _pairs(attributes), _pairs(properties))
        return str(path.decode())

    def usb_port(self, port: str, **attributes: str) -> str:
        """A USB device in a port, with one interface; returns the interface's path."""
        usb = self.add(
            "usb",
            port,
            None,
            {"idVendor": "0bda", "idProduct": "b812", "product": "802.11ac NIC", **attributes},
            {"DEVTYPE": "usb_device"},
        )
        return self.add("usb", f"{port}:1.0", usb, {}, {"DEVTYPE": "usb_interface", "DRIVER": "rtw88_8822bu"})

    def radio(
        self,
        name: str,
        parent: str | None,
        mac: str = "00:e0:4c:01:02:03",
        attributes: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Radio:
        """A wireless interface below `parent`, with its phy and its rfkill switch."""
        index = next(_ifindexes)
        phy = self.add("ieee80211", f"phy{index}", parent, {}, {})
        switch = self.add(
            "rfkill",
            f"rfkill{index}",
            phy,
            {"type": "wlan", "soft": "0", "hard": "0"},
            {"RFKILL_TYPE": "wlan"},
        )
        radio = Radio(self, name, parent, phy, switch, index)
        radio.attributes = {
            "address": mac,
            "addr_assign_type": "0",
            "type": "1",
            "ifindex": str(index),
            **(attributes or {}),
        }
        radio.properties = {"DEVTYPE": "wlan", "IFINDEX": str(index), **(properties or {})}
        radio.appear()
        return radio

    def interface(self, name: str, beside: Radio, **attributes: str) -> Radio:
        """Another interface of the radio of an interface, as `iw dev wlan0 interface add` makes one."""
        index = next(_ifindexes)
        made = Radio(self, name, beside.parent, beside.phy, beside.switch, index)
        made.attributes = {**beside.attributes, "ifindex": str(index), **attributes}
        made.properties = {**beside.properties, "IFINDEX": str(index)}
        made.appear()
        return made

    def adapter(self, name: str, port: str = "1-1.4", mac: str = "00:e0:4c:01:02:03", **usb: str) -> Radio:
        """A USB Wi-Fi adapter in a port."""
        return self.radio(name, self.usb_port(port, **usb), mac)


@dataclass(slots=True)
class Radio:
    """A wireless interface of the fake host."""

    host: FakeHost
    name: str
    parent: str | None
    phy: str
    switch: str
    ifindex: int
    path: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)

    def appear(self) -> None:
        """The kernel makes the interface."""
        self.path = self.host.add(
            "net", self.name, self.parent, self.attributes, {"INTERFACE": self.name, **self.properties}
        )
        self.host.call("set_attribute_link", self.path, "phy80211", f"../{Path(self.phy).name}")
        self.change()

    def change(self, **attributes: str) -> None:
        """udev reports a change of it."""
        for name, value in attributes.items():
            self.host.call("set_attribute", self.path, name, value)
        self.host.call("uevent", self.path, "change")

    def pull(self) -> None:
        """It is removed: the kernel sends an event, and its directory is gone."""
        self.host.call("uevent", self.path, "remove")
        self.vanish()

    def vanish(self) -> None:
        """It is removed without an event."""
        self.host.call("remove_device", self.path)

    def plug_again(self) -> None:
        """The same adapter in the same port: another ifindex."""
        self.ifindex = next(_ifindexes)
        self.attributes["ifindex"] = self.properties["IFINDEX"] = str(self.ifindex)
        self.appear()

    def rename(self, name: str, announce: bool = True) -> None:
        """As `ip link set NAME name OTHER` does."""
        old = self.path
        self.vanish()
        self.name = name
        self.path = self.host.add(
            "net",
            name,
            self.parent,
            self.attributes,
            {"INTERFACE": name, **self.properties, "DEVPATH_OLD": old.removeprefix("/sys")},
        )
        self.host.call("set_attribute_link", self.path, "phy80211", f"../{Path(self.phy).name}")
        if announce:
            self.host.call("uevent", self.path, "move")

    def dump(self, failing: str, **properties: str) -> str:
        """The driver reports a firmware crash of the device; returns the dump's path."""
        path = self.host.add("devcoredump", f"devcd{next(_ifindexes)}", None, {}, properties)
        self.host.call("set_attribute_link", path, "failing_device", os.path.relpath(failing, path))
        return path

    def block(self, soft: bool = False, hard: bool = False) -> None:
        """The rfkill switch is changed; udev reports the switch, not the interface."""
        self.host.call("set_attribute", self.switch, "soft", str(int(soft)))
        self.host.call("set_attribute", self.switch, "hard", str(int(hard)))
        self.host.call("uevent", self.switch, "change")


class Listener:
    """Records the events of a source, in order: an `Adapter` that is present, or the name of one gone."""

    def __init__(self) -> None:
        self.reported: asyncio.Queue[Adapter | str] = asyncio.Queue()
        self.recounts = 0
        self.failed: list[str] = []

    def adapter_present(self, adapter: Adapter) -> None:
        """An adapter appeared, or is described anew."""
        self.reported.put_nowait(adapter)

    def adapter_gone(self, name: str) -> None:
        """An adapter was pulled out."""
        self.reported.put_nowait(name)

    def adapter_firmware_failed(self, name: str) -> None:
        """The firmware of an adapter crashed."""
        self.failed.append(name)

    def adapters_recounted(self) -> None:
        """Events were lost, and made up for."""
        assert not self.reported.empty(), "the changes are reported first"
        self.recounts += 1

    async def next(self) -> Adapter | str:
        """The next event."""
        return await asyncio.wait_for(self.reported.get(), 5)

    async def present(self) -> Adapter:
        """The next event, which must be an adapter that is present."""
        reported = await self.next()
        assert isinstance(reported, Adapter), reported
        return reported

    async def gone(self) -> str:
        """The next event, which must be the name of an adapter that is gone."""
        reported = await self.next()
        assert isinstance(reported, str), reported
        return reported

    def nothing_reported(self) -> bool:
        """Whether all events were read."""
        return self.reported.empty()
