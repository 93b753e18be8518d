"""The rows of problems: what was wrong with a camera, from when until when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from wifimgrd.domain import sentences
from wifimgrd.domain.camera import Problem
from wifimgrd.domain.clocks import Clocks
from wifimgrd.domain.device import DeviceId, DeviceStatus
from wifimgrd.domain.events import CameraChanged, DeviceRemoved, DeviceStateChanged, DeviceUpdated, Event
from wifimgrd.domain.history import HistoryKind, HistoryRow, problem_ended_unseen


@dataclass(frozen=True, slots=True)
class _Lasting:
    """A problem that lasts, and when its row got its time: that of the host's clock of then."""

    row: HistoryRow
    noted: Clocks

    def current(self, now: Clocks) -> HistoryRow:
        """Its row with the present time."""
        return replace(self.row, seen_us=self.noted.time_of(now))

    def ended(self, now: Clocks) -> HistoryRow:
        """Its row, if it is over now."""
        return replace(self.row, ended_us=max(self.noted.time_of(now), self.row.time_us))


class ProblemHistory:
    """Makes the rows of problems, of the last status of each camera."""

    def __init__(
        self,
        put: Callable[[HistoryRow], None],
        new_id: Callable[[], int],
        now: Callable[[], Clocks],
        check_soon: Callable[[], None],
    ) -> None:
        """`check_soon` has it written that a problem lasts, sooner than what has lasted for long."""
        self._put = put
        self._new_id = new_id
        self._now = now
        self._check_soon = check_soon
        self._lasting: dict[DeviceId, dict[Problem, _Lasting]] = {}
        """Without the devices that have none."""

    def start(self, unended: Iterable[HistoryRow], statuses: Iterable[DeviceStatus]) -> None:
        """End the rows of the last run, which did not see their ends, and begin those of what is known to be
        wrong now."""
        for row in unended:
            self._put(problem_ended_unseen(row))
        for status in statuses:
            self._compare(status)

    @property
    def any_lasts(self) -> bool:
        """Whether a problem is not over."""
        return bool(self._lasting)

    def current(self, now: Clocks) -> Iterator[HistoryRow]:
        """The rows of the problems that last, with the present time."""
        return (one.current(now) for of_device in self._lasting.values() for one in of_device.values())

    def forget(self, device_id: DeviceId) -> None:
        """The rows of a device are deleted."""
        self._lasting.pop(device_id, None)

    def happened(self, event: Event) -> None:
        """Something happened, which may be of a camera."""
        match event:
            case CameraChanged(status) | DeviceStateChanged(status) | DeviceUpdated(status):
                self._compare(status)
            case DeviceRemoved(device_id):
                for one in self._lasting.pop(device_id, {}).values():
                    self._put(one.ended(self._now()))

    def _compare(self, status: DeviceStatus) -> None:
        device, problems = status.device, status.camera.problems if status.camera is not None else ()
        lasting = self._lasting.get(device.id, {})
        if lasting.keys() == set(problems):
            return
        now = self._now()
        begun = {one: _Lasting(self._begun(status, one, now), now) for one in problems if one not in lasting}
        over = [one.ended(now) for problem, one in lasting.items() if problem not in problems]
        self._lasting[device.id] = {
            problem: one for problem, one in (lasting | begun).items() if problem in problems
        }
        if not problems:
            del self._lasting[device.id]
        for row in (*over, *(one.current(now) for one in begun.values())):
            self._put(row)
        if begun:
            self._check_soon()

    def _begun(self, status: DeviceStatus, problem: Problem, now: Clocks) -> HistoryRow:
        device, camera = status.device, status.camera
        message = "" if camera is None else sentences.camera_problem(problem, camera.reading)
        return HistoryRow(
            self._new_id(),
            now.host_us,
            HistoryKind.PROBLEM,
            device.id,
            device.name,
            status.interface or "",
            problem.value,
            message,
        )
