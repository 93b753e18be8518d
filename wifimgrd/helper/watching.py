"""Watch changes of the kernel's tables: nftables, interfaces, routes, rules and settings of interfaces.

The kernel does not report src_valid_mark."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from wifimgrd.helper.ruleset import TABLE_NAME
from wifimgrd.kernel.events import Event, NetworkEvents, Topic
from wifimgrd.kernel.nftables_events import NftablesEvents
from wifimgrd.runtime.tasks import Backoff, Tasks

_TOPICS: Final = Topic.LINKS | Topic.ROUTES | Topic.RULES | Topic.SETTINGS
_BACKOFF: Final = Backoff(first_s=1.0, last_s=30.0)


def watch(changed: Callable[[Event | None], None], own_port: int, tasks: Tasks) -> None:
    """Call `changed` with each event, also about the helper's own changes, until `tasks` are stopped.

    None stands for changes that may have been missed, and for a change of the nftables tables by another
    program, which is one from another netlink port than `own_port`.
    """
    check = partial(changed, None)
    network = NetworkEvents(_TOPICS, changed, on_overrun=check)
    # `nft monitor` would read all tables for each change, also for the helper's own: that takes longer than
    # the change.
    tables = NftablesEvents(TABLE_NAME, own_port, on_change=check, on_overrun=check)
    tasks.keep("network-events", partial(_follow, network, check), _BACKOFF, expected=(OSError,))
    tasks.keep("nftables-events", partial(_follow, tables, check), _BACKOFF, expected=(OSError,))


async def _follow(events: NetworkEvents | NftablesEvents, check: Callable[[], None]) -> None:
    events.open()
    try:
        check()  # changes before the subscription
        await asyncio.get_running_loop().create_future()
    finally:
        events.close()
