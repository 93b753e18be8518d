"""The daemon killed at any instant of a busy life: what was acknowledged is there, once, as answered."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.commands import connect, disconnect
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from wifimgrd.domain.errors import WifimgrdError

CRASHES: Final = int(os.environ.get("WIFIMGRD_CRASHES") or "20")
"""`make soak` has more of them."""
LONGEST_LIFE_S: Final = 0.12


@dataclass
class Ledger:
    """What clients were answered, and what they asked for without getting an answer."""

    names: dict[int, set[str]] = field(default_factory=dict)
    """Of each acknowledged device: the name it has, or the names that it may have."""
    going: set[int] = field(default_factory=set)
    """Their removal was asked for."""
    gone: set[int] = field(default_factory=set)
    unanswered: dict[str, Any] | None = None
    """A creation that may or may not have happened, with its idempotency key."""

    def agrees(self, found: dict[int, str]) -> None:
        """Compare with the devices that the daemon has after a crash, and go on from there."""
        unknown = found.keys() - self.names.keys()
        assert len(unknown) <= (self.unanswered is not None), "a device that nobody asked for"
        assert not unknown & self.gone, "an id was given again"
        assert self.names.keys() - found.keys() <= self.going, "an acknowledged device is lost"
        for device, name in found.items():
            assert device in unknown or name in self.names[device], "a name that nobody gave"
        self.gone |= self.names.keys() - found.keys()
        self.names = {device: {name} for device, name in found.items()}
        self.going.clear()


async def act(hub: Hub, ledger: Ledger, chance: random.Random) -> None:
    """One command after the other, until the daemon dies."""
    number = 0
    while True:
        number += 1
        known = sorted(ledger.names)
        match chance.choice(("create", "create", "rename", "remove", "connect", "disconnect")):
            case "create" if len(known) < 12:
                ledger.unanswered = {
                    "number": chance.randint(1, 4),
                    "idempotency_key": f"{chance.random()}",
                    "name": f"new {number} {chance.random()}",
                }
                device = await hub.create(**ledger.unanswered)
                ledger.names[device], ledger.unanswered = {ledger.unanswered["name"]}, None
            case "rename" if known:
                device, name = chance.choice(known), f"renamed {chance.random()}"
                ledger.names[device].add(name)
                await hub.client.update_device(device, {"name": name})
                ledger.names[device] = {name}
            case "remove" if known:
                device = chance.choice(known)
                ledger.going.add(device)
                await hub.client.remove_device(device)
                ledger.going.discard(device)
                ledger.gone.add(device)
                del ledger.names[device]
            case "connect" if known:
                await quietly(connect(hub.client, chance.choice(known)))
            case "disconnect" if known:
                await quietly(disconnect(hub.client, chance.choice(known)))


async def quietly(command: object) -> None:
    """A command whose refusal is no news here."""
    try:
        await command  # type: ignore[misc]
    except WifimgrdError as refused:
        if refused.code == "backend-unavailable":
            raise


@pytest.mark.slow
async def test_a_crash_at_any_instant_loses_nothing_that_was_acknowledged(
    message_bus: MessageBusDaemon, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    ledger = Ledger()
    async with running_hub(message_bus.address, state) as hub:
        for seed in range(CRASHES):
            chance = random.Random(seed)
            acting = asyncio.create_task(act(hub, ledger, chance))
            await asyncio.wait([acting], timeout=chance.uniform(0, LONGEST_LIFE_S))
            await hub.end(signal.SIGKILL)
            await asyncio.wait([acting])
            assert isinstance(acting.exception(), WifimgrdError), acting.exception()
            await hub.start()
            found = {device.id: device.name for device in hub.client.devices.values()}
            ledger.agrees(found)
            if ledger.unanswered is not None:
                again = await hub.create(**ledger.unanswered)
                assert again in found or again > max([0, *found, *ledger.gone]), "the key was forgotten"
                ledger.names[again] = {hub.client.devices[again].name}
                ledger.unanswered = None
