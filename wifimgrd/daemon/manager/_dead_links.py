"""Cameras that are connected and do not answer: collect evidence, and carry out what the pure `LinkRecovery`
decides.
"""

from __future__ import annotations

from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import LinkEvidence
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import NotSupported
from wifimgrd.runtime.tasks import Tasks


class DeadLinks:
    """Runs the recovery steps of cameras: has their records, the clock and the tasks."""

    def __init__(self, state: HubState, evidence: LinkEvidence, tasks: Tasks) -> None:
        self._state = state
        self._evidence = evidence
        self._tasks = tasks

    async def recover(self, device_id: DeviceId, *, wait: bool = False, step: str | None = None) -> None:
        """Take a recovery step for a connected camera, by a client's command: `step`, or the next one.

        Returns when it runs, with `wait` when it has ended. Raises DeviceNotFound, NotConnected, Busy,
        InvalidRequest, NotSupported, CameraBusy; with `wait` also why the camera has not come back, or
        Cancelled.
        """
        self._state.entry_to_change(device_id)
        raise NotSupported(f"{step} {wait}")

    async def stop(self) -> None:
        """End all steps."""
        await self._tasks.stop()
