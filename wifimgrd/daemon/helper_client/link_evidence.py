"""Observe the link of a connected camera that answers nothing, without touching it.

The daemon sends nothing itself, and needs no right: the probes, whose sockets the helper opens, make the
kernel ask for the camera's hardware address. What comes of that is in the kernel's neighbour table. It asks
a host that has answered before some seconds after the first unanswered packet, three times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from wifimgrd.domain.dead_links import Asked, Counters
from wifimgrd.kernel import nl80211
from wifimgrd.kernel.neighbours import UNANSWERED, Neighbour, State, neighbour_of

LIMIT_S: Final = 9.0
"""How long the table is watched: less than the port's 10 s, and longer than the kernel takes to give up."""
_LOOK_S: Final = 0.5
_READ_S: Final = 1.0
"""The kernel's tables are locked while an adapter that hangs is taken down."""
_COUNT_S: Final = 8.0
"""A driver whose firmware hangs gives up asking it after a few seconds."""
_WAITS_S: Final = 1.0
"""The kernel repeats an unanswered question after so long."""
_THREADS: Final = 2
"""One that hangs in the kernel for each kind of question, and no more however often that is asked."""
_T = TypeVar("_T")


class KernelLinkEvidence:
    """Implements `wifimgrd.daemon.ports.LinkEvidence`."""

    def __init__(
        self,
        neighbour: Callable[[str, str], Neighbour | None] = neighbour_of,
        counters: Callable[[str, float], Counters | None] = nl80211.counters_of,
    ) -> None:
        self._neighbour = neighbour
        self._counters = counters
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="link-evidence")
        """Their own, so that questions that hang take none from the rest of the daemon. What still waits for
        one when its time is over is not asked."""

    async def counters(self, interface: str) -> Counters | None:
        """See LinkEvidence.counters."""
        at_s = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(_COUNT_S):
                return await self._in_thread(self._counters, interface, at_s)
        except TimeoutError:
            return None

    async def asked(self, interface: str, address: str, within_s: float) -> Asked:
        """See LinkEvidence.asked. A silence counts once the kernel was seen to give up, or at the end."""
        loop = asyncio.get_running_loop()
        begin_s = loop.time()
        while True:
            try:
                async with asyncio.timeout(_READ_S):
                    found = await self._in_thread(self._neighbour, interface, address)
            except TimeoutError:  # its thread still waits
                return Asked.NOT_ASKED
            watched_s = loop.time() - begin_s
            answer = outcome(found, within_s + watched_s)
            has_given_up = outcome(found, watched_s) is Asked.SILENT
            if answer is Asked.ANSWERED or has_given_up or watched_s + _LOOK_S > LIMIT_S:
                return answer
            await asyncio.sleep(_LOOK_S)

    async def _in_thread(self, question: Callable[..., _T], *about: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, question, *about)


def outcome(neighbour: Neighbour | None, within_s: float) -> Asked:
    """Whether a host was asked in the last `within_s` seconds and has answered, as far as the table says.

    A hardware address that is known says little: it may be of long ago, and is kept while the host is asked
    again. So the last confirmation counts, which a host that is being asked for the first time does not have.
    """
    if neighbour is None or neighbour.confirmed_s is None or neighbour.changed_s is None:
        return Asked.NOT_ASKED
    if neighbour.state & UNANSWERED:
        waited_s = _WAITS_S if neighbour.state & State.INCOMPLETE else 0.0
        return Asked.SILENT if waited_s <= neighbour.changed_s <= within_s else Asked.NOT_ASKED
    is_answered = not neighbour.state & State.PERMANENT and neighbour.confirmed_s <= within_s
    return Asked.ANSWERED if is_answered else Asked.NOT_ASKED
