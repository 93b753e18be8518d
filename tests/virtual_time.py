"""An event loop whose clock jumps to whatever is due next, so that hours pass in no time."""

from __future__ import annotations

import asyncio
import selectors


class _Skipping(selectors.PollSelector):
    passed_s = 0.0
    waits = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("everything waits and nothing is due")
            self.passed_s += timeout
            self.waits += timeout > 0
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """For `asyncio.Runner(loop_factory=VirtualTimeLoop)`."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.passed_s

    def skip(self, seconds: float) -> None:
        """Let time pass in which this process does nothing, as while it is stopped."""
        self._skipping.passed_s += seconds

    @property
    def waits(self) -> int:
        """How often the loop went to sleep."""
        return self._skipping.waits
