"""Changes of a device that a client asked for: on disk first, then in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wifimgrd.domain.device import Passphrase
from wifimgrd.manager._entry import DeviceEntry
from wifimgrd.manager._state import HubState


async def amend(
    state: HubState,
    entry: DeviceEntry,
    changes: Mapping[str, Any],
    passphrase: Passphrase | None = None,
    key: str | None = None,
    request: bytes = b"",
) -> None:
    """Store changes, safe on disk on return; the caller holds `entry.editing`. What is learned of the device
    meanwhile is kept. Raises what the store raises, with nothing changed."""
    before = entry.device
    await state.store.update(before, replace(before, **changes), passphrase, key, request)
    learned = entry.device
    state.registry.replace(entry, replace(learned, **changes))
    if not entry.removing and any(getattr(learned, one) != getattr(before, one) for one in changes):
        state.store.record(learned, entry.device)  # the value of the same field was written after the change
