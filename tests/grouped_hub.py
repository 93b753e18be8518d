"""The daemon with a group of two cameras, and two others that are connected, on three adapters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from tests.commands import connect
from tests.processes import START_TIMEOUT_S, Hub, running_hub
from wifimgrd.client.hub import HubClient

NOSE: Final = 1
CHIN: Final = 2
LEFT: Final = 3
TAIL: Final = 4
"""Those of the group, and the others; of these Tail has to leave first."""
CONFIGURATION: Final = """\
[connect]
on_create = false

[[connect.group]]
name = "nose"
devices = ["Nose", 2, "nobody"]

[[connect.group]]
name = "everyone"
devices = ["Nose", "Chin", "Left", "Tail"]

[[interfaces.reserve]]
device = "Belly"
usb_port = "9-9"
"""


@asynccontextmanager
async def grouped_hub(address: str, folder: Path) -> AsyncIterator[Hub]:
    """The daemon from start to stop."""
    (folder / "wifimgrd.toml").write_text(CONFIGURATION)
    (folder / "state").mkdir()
    arguments = ("--simulate", "--config", str(folder / "wifimgrd.toml"))
    async with running_hub(address, folder / "state", *arguments) as hub:
        for number, name in enumerate(("Nose", "Chin", "Left", "Tail"), 1):
            assert await hub.create(number, name=name) == number
        await asyncio.gather(*(connect(hub.client, one) for one in (LEFT, TAIL)))
        for one in (LEFT, TAIL):
            await hub.until(one, "connected")
        yield hub


async def until_connected(hub: Hub, wanted: set[int]) -> None:
    """Wait until these cameras are connected, and no others: what the shim has told, another client of the
    bus may hear later."""

    def are_connected(client: HubClient) -> bool:
        return {one.id for one in client.devices.values() if one.is_connected} == wanted

    await hub.client.wait_until(are_connected, START_TIMEOUT_S)
