"""A registered device, and what is going on with it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from wifimgrd.domain.device import Device, DeviceState, Link
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.reachability import Reachability
from wifimgrd.runtime.tasks import Tasks


@dataclass(slots=True)
class DeviceEntry:
    """One device's place in memory; who changes it keeps to the order of `HubState`."""

    device: Device
    state: DeviceState = DeviceState.DISCONNECTED
    link: Link | None = None
    reachability: Reachability = field(default_factory=Reachability)
    """Of the link that is up."""
    watch: Tasks | None = None
    """Asks the camera now and then whether it is there; runs while CONNECTED."""
    outcome: asyncio.Future[None] | None = None
    """How the attempt or interruption that runs will have ended; set while CONNECTING."""
    attempt: asyncio.Task[None] | None = None
    """The join that runs; None also while an interrupted link is waited for."""
    automatic: bool = False
    """The attempt was nobody's command: its failure is nobody's news."""
    lost_us: int = 0
    """When the link was lost, or was found lost; means something while the device is wanted back."""
    grace: asyncio.TimerHandle | None = None
    teardown: asyncio.Task[None] | None = None
    """The release that runs."""
    removing: bool = False
    editing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One change of what was registered at a time."""

    def settle(self, error: WifimgrdError | None = None) -> None:
        """Tell whoever waits for the outcome, and stop the clock of the grace time."""
        if self.grace is not None:
            self.grace.cancel()
            self.grace = None
        outcome, self.outcome = self.outcome, None
        if outcome is None or outcome.done():
            return
        if error is None:
            outcome.set_result(None)
        else:
            outcome.set_exception(error)
            outcome.exception()  # nobody may be waiting, and that is no mistake
