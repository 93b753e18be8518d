"""`wifimgrd-net`: the helper's command line, start and stop."""

from __future__ import annotations

import sys

# As in the daemon: no TLS, which takes 4 MB, and no compression. Must come before anything that imports
# asyncio.
for _unused in ("ssl", "bz2", "lzma"):
    sys.modules[_unused] = None  # type: ignore[assignment]

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from wifimgrd.bus.connection import BusClosed, BusConnection
from wifimgrd.helper._kernel_state import KernelState
from wifimgrd.helper._link_files import LinkFiles
from wifimgrd.helper._networkd_links import NetworkdLinks
from wifimgrd.helper._policy import read_policy
from wifimgrd.helper._ruleset import TABLE_NAME
from wifimgrd.helper._service import NetService
from wifimgrd.kernel.events import Event, NetworkEvents, Topic
from wifimgrd.kernel.nftables import NftablesError
from wifimgrd.kernel.nftables_events import NftablesEvents
from wifimgrd.proxies.networkd.manager import Networkd
from wifimgrd.runtime.tasks import Backoff, Tasks
from wifimgrd.wire.private_process import BUSES, command_line, process, serve, uid_of

_PROGRAM: Final = "wifimgrd-net"
_TOPICS: Final = Topic.LINKS | Topic.ROUTES | Topic.RULES | Topic.SETTINGS
_BACKOFF: Final = Backoff(first_s=1.0, last_s=30.0)


def main() -> None:
    """Run until the daemon has been gone for `--linger`, SIGTERM or SIGINT; see `wifimgrd-net --help`."""
    parser = command_line(
        _PROGRAM,
        "Gives each camera its own address on this host.",
        linger_s=15.0,
        lingering="how long addresses outlive the daemon",
    )
    parser.add_argument(
        "--networkd-bus",
        metavar=BUSES,
        help="the message bus of systemd and the services that join networks (default: the same)",
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the configuration file (default /etc/wifimgrd/wifimgrd.toml)",
    )
    parser.add_argument(
        "--clear", action="store_true", help="remove what an earlier run left behind, and exit"
    )
    arguments = parser.parse_args()
    networkd_bus = arguments.networkd_bus or arguments.bus
    with process(_PROGRAM, NftablesError):
        if arguments.clear:
            with closing(KernelState()) as kernel:
                kernel.clear()
            if LinkFiles().remove_all():
                asyncio.run(_reload_networkd(networkd_bus))
        else:
            uid = uid_of(arguments.user)
            asyncio.run(_serve(arguments.bus, networkd_bus, uid, arguments.linger, arguments.config))


async def _serve(bus: str, networkd_bus: str, uid: int, linger_s: float, config: Path | None) -> None:
    kernel = KernelState()
    connection = await BusConnection.open(bus, sockets=True)
    tasks = Tasks(_PROGRAM)
    policy = partial(read_policy, config)
    to_networkd = connection if networkd_bus == bus else await BusConnection.open(networkd_bus)
    links = NetworkdLinks(to_networkd, LinkFiles())
    service = NetService(connection, to_networkd, kernel, links, policy, uid, linger_s, tasks.part("service"))
    if to_networkd is not connection:
        tasks.require("networkd-bus", to_networkd.wait_closed())
    _watch(service.changed, kernel.nftables_port, tasks)
    try:
        await serve(service, connection, tasks, bus)
    finally:
        await to_networkd.close()
        await connection.close()
        kernel.close()


def _watch(changed: Callable[[Event | None], None], own_port: int, tasks: Tasks) -> None:
    """Watch the kernel's tables: call `changed` with each event, also about the helper's own changes, until
    `tasks` are stopped. The kernel does not report src_valid_mark.

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


async def _reload_networkd(bus: str) -> None:
    """Reload systemd-networkd, if it runs, since its files are gone; without a message bus it does not."""
    with suppress(BusClosed):
        connection = await BusConnection.open(bus)
        try:
            networkd = Networkd(connection)
            if await networkd.is_running():
                await networkd.reload()
        finally:
            await connection.close()


if __name__ == "__main__":
    main()
