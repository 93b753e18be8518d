"""Changes of a device that a client asked for: on disk first, then in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.domain.device import Passphrase


async def amend(
    state: HubState,
    entry: DeviceEntry,
    changes: Mapping[str, Any],
    passphrase: Passphrase | None = None,
    key: str | None = None,
    request: bytes = b"",
) -> None:
    """Store changes, safe on disk on return; the caller holds `entry.editing`. What is learned of the device
    meanwhile is kept. Raises what the store raises, with nothing changed.

    If it is cancelled it ends first: the disk gets the change all the same, and memory follows the disk.
    """
    amending = asyncio.ensure_future(_amend(state, entry, changes, passphrase, key, request))
    cancelled: asyncio.CancelledError | None = None
    while not amending.done():
        try:
            await asyncio.wait([amending])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from amending.exception()
    amending.result()


async def _amend(
    state: HubState,
    entry: DeviceEntry,
    changes: Mapping[str, Any],
    passphrase: Passphrase | None,
    key: str | None,
    request: bytes,
) -> None:
    before = entry.device
    await state.store.update(before, replace(before, **changes), passphrase, key, request)
    learned = entry.device
    state.registry.replace(entry, replace(learned, **changes))
    if not entry.removing and any(getattr(learned, one) != getattr(before, one) for one in changes):
        state.store.record(learned, entry.device)  # the value of the same field was written after the change
