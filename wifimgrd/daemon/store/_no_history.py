"""The history while its file cannot be opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.history import HistoryFilter, HistoryRow
from wifimgrd.domain.signal_history import Samples


class NoHistory:
    """Implements HistoryStore (wifimgrd.daemon.ports), and keeps nothing."""

    next_id = 1
    unended: Sequence[HistoryRow] = ()
    last_recordings: Sequence[HistoryRow] = ()

    def put(self, rows: Sequence[HistoryRow]) -> None:
        """Drop rows."""

    async def read(self, wanted: HistoryFilter) -> Sequence[HistoryRow]:  # noqa: ARG002 - there are none
        """No rows."""
        return ()

    def put_signals(self, samples: Mapping[DeviceId, Samples]) -> None:
        """Drop samples."""

    async def read_signal(self, device_id: DeviceId, minutes: range) -> Samples:  # noqa: ARG002 - as `read`
        """No samples."""
        return {}

    def forget(self, device_id: DeviceId) -> None:
        """There is nothing to delete here; what the file has is deleted once it can be opened."""

    async def close(self) -> None:
        """There is nothing to close."""
