"""Which interfaces are registered with wpa_supplicant, and why others are not free."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.daemon.backends.wpa_supplicant._other_supplicants import OtherSupplicants
from wifimgrd.daemon.backends.wpa_supplicant._registration import InterfaceTaken, Registrations
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS, WPAS_INTERFACE_EXISTS
from wifimgrd.wire.errors import NAME_OF

OWNER, EARLIER_OWNER = "bus-1 :1.7", "bus-1 :1.2"
PATH = "/fi/w1/wpa_supplicant1/Interfaces/0"
OTHER_HAS_IT = "another program has registered it with wpa_supplicant"


@dataclass
class Host:
    """wpa_supplicant and systemd, as replies to the calls of a connection."""

    registered: bool = False
    active_unit: str = ""
    refusal: str = ""
    """The name of the error with which CreateInterface is refused."""
    registers_late: bool = False
    """The interface is there by the time at which CreateInterface is refused."""
    answer: asyncio.Event | None = None
    """Where there is one, CreateInterface waits for it."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """CreateInterface was called."""
    is_silent: bool = False
    """The answer to CreateInterface takes longer than anybody waits."""
    calls: list[str] = field(default_factory=list)

    async def call(
        self, service: str, path: str, interface: str, member: str, *given: Any, auto_start: bool = True
    ) -> list[Any]:
        del service, path, interface, auto_start
        self.calls.append(member)
        match member:
            case "GetInterface" if not self.registered:
                raise BusError(f"{WPAS}.InterfaceUnknown", "there is no such interface")
            case "ListUnitsByNames":
                return [self._listed(given[1][0])]
            case "Subscribe":
                return []
            case "GetInterface":
                return [PATH]
            case "RemoveInterface":
                self.registered = False
                return []
        raise AssertionError(member)

    async def register(self, name: str) -> str:
        """As the helper does it."""
        assert name == "wlan0"
        self.calls.append("CreateInterface")
        self.asked.set()
        if self.answer:
            await self.answer.wait()
        self.registered |= self.registers_late
        if self.is_silent:
            raise TimeoutError
        if self.refusal:
            raise BusError(self.refusal, "it is refused")
        return PATH

    async def watch(self, handler: object, **conditions: str) -> object:
        del handler
        self.calls.append(conditions["member"])
        return self

    def _listed(self, units: Sequence[str]) -> list[Any]:
        states = {self.active_unit: ("active", "running")}
        return [[one, "", "", *states.get(one, ("inactive", "dead")), "", "/", 0, "", "/"] for one in units]


class Memory(dict[str, str]):
    def recall(self, key: str) -> str | None:
        return self.get(key)

    def note(self, key: str, value: str | None) -> None:
        if value is None:
            self.pop(key, None)
        else:
            self[key] = value


async def register(host: Host, memory: Memory, owner: str = OWNER) -> str:
    return await register_by(Registrations(memory, host.register), host, owner)


async def register_by(registrations: Registrations, host: Host, owner: str = OWNER) -> str:
    connection = cast("BusConnection", host)
    others = OtherSupplicants(connection, lambda: None)
    return await registrations.register(connection, owner, "wlan0", others)


async def unregister_by(registrations: Registrations, host: Host) -> None:
    await registrations.unregister(cast("BusConnection", host), OWNER, "wlan0")


async def cancel_attempt(registrations: Registrations, host: Host) -> None:
    """Begin to register it, and let nobody wait for the answer."""
    attempt = asyncio.create_task(register_by(registrations, host))
    await host.asked.wait()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt


async def test_a_free_interface_is_registered_once_and_is_own_in_the_next_run_of_the_daemon() -> None:
    host, memory = Host(), Memory()
    assert await register(host, memory) == PATH
    host.registered = True
    assert await register(host, memory) == PATH
    assert host.calls.count("CreateInterface") == 1


async def test_an_interface_of_another_program_is_not_free() -> None:
    host, memory = Host(registered=True), Memory()
    with pytest.raises(InterfaceTaken, match=OTHER_HAS_IT):
        await register(host, memory)


async def test_one_that_was_own_with_an_earlier_wpa_supplicant_is_another_programs_now() -> None:
    host, memory = Host(), Memory()
    await register(host, memory, EARLIER_OWNER)
    host.registered = True
    with pytest.raises(InterfaceTaken, match=OTHER_HAS_IT):
        await register(host, memory)


@pytest.mark.parametrize(
    "unit",
    [
        "wpa_supplicant@wlan0.service",
        "wpa_supplicant-nl80211@wlan0.service",
        "netplan-wpa-wlan0.service",
        "ifup@wlan0.service",
    ],
)
async def test_an_interface_with_a_wpa_supplicant_of_its_own_is_not_free(unit: str) -> None:
    host, memory = Host(active_unit=unit), Memory()
    with pytest.raises(InterfaceTaken, match=f"^{unit} uses it$"):
        await register(host, memory)
    assert "CreateInterface" not in host.calls


async def test_an_interface_for_which_ifupdown_runs_a_wpa_supplicant_is_not_free(
    pid_files: Path,
) -> None:
    file = pid_files / "wpa_supplicant.wlan0.pid"
    file.write_text(f"{os.getpid()}\n")
    host, memory = Host(), Memory()
    with pytest.raises(InterfaceTaken, match=r"^ifupdown runs a wpa_supplicant for it$"):
        await register(host, memory)
    for left in (f"{_pid_of_nobody()}\n", "", "\xff"):  # of one that was killed, or is not written yet
        file.write_text(left)
        assert await register(host, memory) == PATH


def _pid_of_nobody() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


async def test_one_that_another_program_has_registered_meanwhile_does_not_become_own() -> None:
    host, memory = Host(refusal=WPAS_INTERFACE_EXISTS), Memory()
    with pytest.raises(InterfaceTaken, match=OTHER_HAS_IT):
        await register(host, memory)
    assert not memory


async def test_another_refusal_is_passed_on_and_the_interface_does_not_become_own() -> None:
    host, memory = Host(refusal=f"{WPAS}.UnknownError"), Memory()
    with pytest.raises(BusError, match="it is refused"):
        await register(host, memory)
    assert not memory


@pytest.mark.parametrize("refusal", ["", names.NO_REPLY, NAME_OF[ErrorCode.BACKEND_UNAVAILABLE]])
async def test_one_that_was_registered_after_nobody_waited_any_more_is_own(refusal: str) -> None:
    host, memory = Host(is_silent=not refusal, refusal=refusal), Memory()
    registrations = Registrations(memory, host.register)
    with pytest.raises((TimeoutError, BusError)):
        await register_by(registrations, host)
    await unregister_by(registrations, host)
    host.registered = True  # now
    assert registrations.is_own("wlan0", OWNER)
    await unregister_by(registrations, host)
    assert not host.registered
    assert not memory


async def test_one_that_is_registered_late_while_it_is_asked_for_again_is_own() -> None:
    host, memory = Host(is_silent=True), Memory()
    registrations = Registrations(memory, host.register)
    with pytest.raises(TimeoutError):
        await register_by(registrations, host)
    host.is_silent, host.registers_late, host.refusal = False, True, WPAS_INTERFACE_EXISTS
    assert await register_by(registrations, host) == PATH
    assert registrations.is_own("wlan0", OWNER)


async def test_one_that_is_registered_after_its_attempt_was_cancelled_is_own_and_asked_for_once() -> None:
    host, memory = Host(answer=asyncio.Event()), Memory()
    assert host.answer
    registrations = Registrations(memory, host.register)
    await cancel_attempt(registrations, host)
    await unregister_by(registrations, host)
    next_attempt = asyncio.create_task(register_by(registrations, host))
    host.answer.set()
    assert await next_attempt == PATH
    assert host.calls.count("CreateInterface") == 1
    assert registrations.is_own("wlan0", OWNER)


async def test_one_that_another_program_has_when_a_cancelled_attempt_is_answered_is_not_own() -> None:
    host, memory = Host(answer=asyncio.Event(), refusal=WPAS_INTERFACE_EXISTS), Memory()
    assert host.answer
    registrations = Registrations(memory, host.register)
    await cancel_attempt(registrations, host)
    host.answer.set()
    with pytest.raises(InterfaceTaken, match=OTHER_HAS_IT):
        await register_by(registrations, host)
    assert not memory


async def test_one_that_went_with_its_adapter_is_not_own_any_more() -> None:
    host, memory = Host(), Memory()
    registrations = Registrations(memory, host.register)
    await register_by(registrations, host)
    await unregister_by(registrations, host)
    assert not memory
