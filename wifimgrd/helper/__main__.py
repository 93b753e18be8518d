"""`wifimgrd-net`: the helper's command line, start and stop."""

from __future__ import annotations

import sys

# As in the daemon: no TLS, which takes 4 MB, and no compression. Must come before anything that imports
# asyncio.
for _unused in ("ssl", "bz2", "lzma"):
    sys.modules[_unused] = None  # type: ignore[assignment]

import argparse
import asyncio
import faulthandler
import pwd
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from wifimgrd import __version__
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, NameTaken
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
from wifimgrd.runtime import logging as log
from wifimgrd.runtime.hardening import forbid_core_dumps
from wifimgrd.runtime.systemd import notify, start_watchdog
from wifimgrd.runtime.task_dump import dump_on_signal
from wifimgrd.runtime.tasks import Backoff, Tasks

# sysexits(3)
EX_UNAVAILABLE: Final = 69
EX_OSERR: Final = 71
EX_TEMPFAIL: Final = 75

_TOPICS: Final = Topic.LINKS | Topic.ROUTES | Topic.RULES | Topic.SETTINGS
_BACKOFF: Final = Backoff(first_s=1.0, last_s=30.0)

_log = structlog.get_logger("wifimgrd.helper")


def main() -> None:
    """Run until the daemon has been gone for `--linger`, SIGTERM or SIGINT; see `wifimgrd-net --help`."""
    parser = argparse.ArgumentParser(
        prog="wifimgrd-net",
        description="Gives each camera its own address on this host. Only wifimgrd calls it.",
    )
    parser.add_argument(
        "--bus", default="system", metavar="session|system|ADDRESS", help="the message bus (default system)"
    )
    parser.add_argument(
        "--networkd-bus",
        metavar="session|system|ADDRESS",
        help="the message bus of systemd and the services that join networks (default: the same)",
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the configuration file (default /etc/wifimgrd/wifimgrd.toml)",
    )
    parser.add_argument("--user", default="wifimgrd", help="the user that may call it (default wifimgrd)")
    parser.add_argument(
        "--linger",
        type=float,
        default=15.0,
        metavar="SECONDS",
        help="how long addresses outlive the daemon (default 15)",
    )
    parser.add_argument(
        "--clear", action="store_true", help="remove what an earlier run left behind, and exit"
    )
    parser.add_argument("--version", action="version", version=f"wifimgrd {__version__}")
    arguments = parser.parse_args()
    log.configure()
    faulthandler.enable()  # a traceback when the watchdog sends SIGABRT: functions and lines, no values
    forbid_core_dumps()
    try:
        if arguments.clear:
            KernelState().clear()
            if LinkFiles().remove_all():
                asyncio.run(_reload_networkd(arguments.networkd_bus or arguments.bus))
        else:
            uid = pwd.getpwnam(arguments.user).pw_uid
            networkd_bus = arguments.networkd_bus or arguments.bus
            asyncio.run(_serve(arguments.bus, networkd_bus, uid, arguments.linger, arguments.config))
    except KeyError:
        _refuse(EX_OSERR, f"there is no user {arguments.user}")
    except NameTaken as error:
        _refuse(EX_TEMPFAIL, error)
    except (BusClosed, BusError) as error:
        _refuse(EX_UNAVAILABLE, error)
    except (OSError, NftablesError) as error:
        _refuse(EX_OSERR, error)


async def _serve(bus: str, networkd_bus: str, uid: int, linger_s: float, config: Path | None) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    dump_on_signal()
    kernel = KernelState()
    connection = await BusConnection.open(bus, sockets=True)
    tasks = Tasks("wifimgrd-net")
    policy = partial(read_policy, config)
    to_networkd = connection if networkd_bus == bus else await BusConnection.open(networkd_bus)
    links = NetworkdLinks(to_networkd, LinkFiles())
    service = NetService(connection, to_networkd, kernel, links, policy, uid, linger_s, tasks.part("service"))
    tasks.require("message-bus", connection.wait_closed())
    tasks.check("message-bus", connection.round_trip)
    if to_networkd is not connection:
        tasks.require("networkd-bus", to_networkd.wait_closed())
    _watch(service.changed, kernel.nftables_port, tasks)
    try:
        await service.start()
        notify("READY=1")
        start_watchdog(tasks)
        _log.info("started", version=__version__, bus=bus)
        await tasks.until_required_ends(stopping, service.unneeded)
        notify("STOPPING=1")
    finally:
        await service.stop()
        await tasks.stop()
        await to_networkd.close()
        await connection.close()
        kernel.close()
    if not stopping.is_set() and not service.unneeded.is_set():
        raise BusClosed("the message bus became unavailable")
    _log.info("stopped")


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


def _refuse(status: int, why: object) -> None:
    sys.stderr.write(f"wifimgrd-net: {why}\n")
    raise SystemExit(status)


if __name__ == "__main__":
    main()
