"""The rows of recovery steps of cameras: each from its begin on, with its result once it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from wifimgrd.domain import sentences
from wifimgrd.domain.clocks import Clocks
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.events import LinkStepEnded, LinkStepStarted
from wifimgrd.domain.history import HistoryKind, HistoryRow, ended_unseen
from wifimgrd.domain.link_steps import PORT_STEPS


@dataclass(slots=True)
class _Step:
    """A step that runs, and when its row got its times: it has those of the host's clock of then."""

    row: HistoryRow
    noted: Clocks


class RecoveryHistory:
    """Makes the rows of recovery steps."""

    def __init__(
        self, put: Callable[[HistoryRow], None], new_id: Callable[[], int], now: Callable[[], Clocks]
    ) -> None:
        self._put = put
        self._new_id = new_id
        self._now = now
        self._running: dict[DeviceId, _Step] = {}

    def start(self, unended: Iterable[HistoryRow]) -> None:
        """End the rows of steps that ran when the hub was stopped, or killed."""
        for row in unended:
            self._put(ended_unseen(replace(row, message=sentences.step_unseen(row.message, row.code)), ""))

    @property
    def any_runs(self) -> bool:
        """Whether a step has not ended."""
        return bool(self._running)

    def port_step(self, interface: str) -> str:
        """The step of a USB port that runs for the adapter with an interface; empty if none does."""
        codes = (one.row.code for one in self._running.values() if one.row.interface == interface)
        return next((code for code in codes if code in PORT_STEPS), "")

    def current(self) -> Iterator[HistoryRow]:
        """The rows of the steps that run, with the present time."""
        now = self._now()
        return (replace(one.row, seen_us=one.noted.time_of(now)) for one in self._running.values())

    def started(self, event: LinkStepStarted, name: str) -> None:
        """A step has begun, of the device of a name."""
        now = self._now()
        row = HistoryRow(
            self._new_id(),
            now.host_us,
            HistoryKind.RECOVERY,
            event.device_id,
            name,
            event.interface,
            event.step.value,
            event.why,
        )
        self._running[event.device_id] = _Step(row, now)
        self._put(row)

    def ended(self, event: LinkStepEnded, through: str) -> None:
        """It has ended; `through` is the interface of the device's link now, empty if it has none."""
        if (step := self._running.pop(event.device_id, None)) is not None:
            ended_us = max(step.noted.time_of(self._now()), step.row.time_us)
            message = sentences.link_step_ended(
                step.row.message,
                event.step,
                event.result,
                before=step.row.interface,
                through=through,
                failure=event.failure,
            )
            self._put(replace(step.row, ended_us=ended_us, message=message))

    def forget(self, device_id: DeviceId) -> None:
        """The rows of a device are deleted."""
        self._running.pop(device_id, None)
