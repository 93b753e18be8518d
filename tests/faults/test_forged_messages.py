"""Messages that no client of dbus-daemon can send, but those of other message buses can."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from tests.bus.test_framing import message
from tests.faults.passing_bus import PassingBus
from tests.message_bus import MessageBusDaemon
from tests.processes import running_hub
from wifimgrd.bus._framing import CALL, LARGEST, SIGNAL
from wifimgrd.bus.connection import Variant

SEEMING_SENDER = b"\x07\x01s\x00" + struct.pack("<I", 0xFFFFFFF0)
"""The field of a sender whose name is longer than the message."""
CUT_SENDER = b"\x07\x01s\x00"
"""The same at the end of the header, without the name."""


FORGED: list[tuple[list[Any], int]] = [
    ([[99, Variant("ay", SEEMING_SENDER)]], 2 * LARGEST),
    ([[99, Variant("ay", SEEMING_SENDER)]], 0),
    ([[99, Variant("ay", CUT_SENDER)]], 2 * LARGEST),
    ([[99, Variant("ay", bytes(4) + CUT_SENDER)]], 2 * LARGEST),  # or at a multiple of eight bytes
    ([[99, Variant("ay", bytes(3 << 20))]], 0),
    ([[7, Variant("s", ":1.0")]], 2 * LARGEST),
    ([[7, Variant("s", ":1.0")]], 0),
]


@pytest.mark.parametrize("kind", [CALL, SIGNAL], ids=["call", "signal"])
@pytest.mark.parametrize("sender", [":1.0", ""], ids=["with sender", "without sender"])
async def test_the_daemon_goes_on_after_forged_messages(
    message_bus: MessageBusDaemon, tmp_path: Path, kind: int, sender: str
) -> None:
    async with (
        PassingBus(tmp_path, message_bus.address).running() as bus,
        running_hub(message_bus.address, tmp_path / "state", "--simulate", "--bus", bus.address) as hub,
    ):
        for serial, (fields, size) in enumerate(FORGED, 1):
            bus.send(message(serial, kind, sender, size, before=fields))
            bus.send(message(serial, kind, sender, size, after=fields))
        assert await hub.create(1) == 1
        await hub.until(1, "connected")
