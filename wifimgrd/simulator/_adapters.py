"""The adapters of a simulated world, as the manager's adapter source."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from wifimgrd.daemon.ports import AdapterListener
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.simulator._scenario import AdapterPlan, AdapterTable

_RETURN_S: Final = 20.0
"""As with the real source."""


class SimulatedAdapters:
    """Implements `wifimgrd.daemon.ports.AdapterSource`."""

    def __init__(self, plans: Mapping[str, AdapterPlan]) -> None:
        self.listener: AdapterListener | None = None
        """The hub, from `start` to `stop`."""
        self.on_replug: Callable[[str], None] = self.unplug
        """Called to reset the USB port of one."""
        self.on_power: Callable[[str], None] = self.unplug
        """Called to switch the power of its port off and on."""
        self._came = asyncio.Event()
        """Set when one is plugged in."""
        self._known = dict(plans)
        """Includes those that are not plugged in: one that is plugged in again is the same one."""
        self._plugged = dict.fromkeys(name for name, plan in plans.items() if plan.plugged)

    async def start(self, listener: AdapterListener) -> None:
        """Report every adapter that is plugged in."""
        self.listener = listener
        for name in tuple(self._plugged):
            self.report(name)

    async def stop(self) -> None:
        """Stop watching."""
        self.listener = None

    @property
    def plugged(self) -> tuple[str, ...]:
        """The names of those that are plugged in."""
        return tuple(self._plugged)

    def get(self, name: str) -> AdapterPlan | None:
        """An adapter that is plugged in, or None."""
        return self._known[name] if name in self._plugged else None

    def plug(self, name: str) -> None:
        """Plug one in, without reporting it (see `report`); an unknown name makes a new one. Raises
        InvalidRequest."""
        if name in self._plugged:
            raise InvalidRequest(f"the adapter {name} is plugged in already")
        if name not in self._known:
            self._known[name] = AdapterTable(name).plan(len(self._known))
        self._plugged[name] = None
        self._came.set()
        self._came = asyncio.Event()

    def unplug(self, name: str) -> None:
        """Unplug one. Raises InvalidRequest."""
        self.require(name)
        del self._plugged[name]
        if self.listener is not None:
            self.listener.adapter_gone(name)

    async def reset_port(self, name: str) -> None:
        """See AdapterSource.reset_port."""
        self._require_usb(name)
        self.on_replug(name)

    async def power_port(self, name: str) -> None:
        """See AdapterSource.power_port. At a port that does not switch the power, the adapter is gone until
        it is replugged by hand."""
        self._require_usb(name)
        self.on_power(name)
        try:
            async with asyncio.timeout(_RETURN_S):
                while name not in self._plugged:
                    await self._came.wait()
        except TimeoutError:
            why = f"no adapter has come back in its USB port within {_RETURN_S:g} s"
            raise OSError(errno.ETIMEDOUT, why) from None

    def _require_usb(self, name: str) -> None:
        if name not in self._plugged or not self._known[name].adapter.identity.usb_port:
            raise FileNotFoundError(f"{name} is not on USB")

    def of_radio(self, name: str) -> list[str]:
        """The plugged-in interfaces of the radio of one."""
        radio = self._known[name].adapter.radio
        return [one for one in self._plugged if self._known[one].adapter.radio == radio]

    def of_usb_device(self, name: str) -> list[str]:
        """The plugged-in interfaces of the USB device of one."""
        ports = {one: self._known[one].adapter.identity.usb_port for one in self._plugged}
        return [one for one, port in ports.items() if one == name or port == ports[name] != ""]

    def block(self, name: str, rfkill: str) -> None:
        """Block one by rfkill, or unblock it with the empty string. Raises InvalidRequest."""
        self.require(name)
        plan = self._known[name]
        self._known[name] = replace(plan, adapter=replace(plan.adapter, rfkill=rfkill))
        self.report(name)

    def firmware_failed(self, name: str) -> None:
        """Report a crash of its firmware."""
        if self.listener is not None:
            self.listener.adapter_firmware_failed(name)

    def require(self, name: str) -> None:
        """Raises InvalidRequest where no adapter of that name is plugged in."""
        if name not in self._plugged:
            raise InvalidRequest(f"there is no adapter {name!r} plugged in")

    def report(self, name: str) -> None:
        """Report one to the listener."""
        if self.listener is not None:
            self.listener.adapter_present(self._known[name].adapter)
