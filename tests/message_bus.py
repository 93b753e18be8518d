"""A real message bus of one's own, for tests: dbus-daemon, or WIFIMGRD_MESSAGE_BUS=dbus-broker."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.bus.values import typed

_DBUS_DAEMON: Final = "dbus-daemon"
_MESSAGE_BUS: Final = os.environ.get("WIFIMGRD_MESSAGE_BUS", _DBUS_DAEMON)


@dataclass(slots=True)
class MessageBusDaemon:
    """A running message bus and where to reach it."""

    process: subprocess.Popen[str]
    address: str

    @classmethod
    def start(cls, configuration: Path | None = None) -> Self:
        """Start a daemon, as a session bus or by a file, and wait until it says where it listens."""
        process = subprocess.Popen(
            _command(configuration),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, f"{_MESSAGE_BUS} did not start"
        return cls(process, address)

    def kill(self) -> None:
        """End it at once, as in a crash."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()


async def match_rules(client: BusConnection, asking: BusConnection) -> int:
    """How many match rules the client has, once the bus has read what it sent."""
    await client.call_bus("GetId", "", [])
    stats = names.BUS_DAEMON + ".Debug.Stats"
    try:
        [rules] = await asking.call(names.BUS_DAEMON, "/org/freedesktop/DBus", stats, "GetAllMatchRules")
    except BusError:  # dbus-broker counts them alone
        [counts] = await asking.call(names.BUS_DAEMON, "/org/freedesktop/DBus", stats, "GetStats")
        peers = typed(
            list[tuple[str, object, dict[str, int]]],
            typed(dict[str, object], counts)["org.bus1.DBus.Debug.Stats.PeerAccounting"],
        )
        return next(numbers["Matches"] for name, _, numbers in peers if name == client.unique_name)
    return len(typed(dict[str, list[str]], rules)[client.unique_name])


def _command(configuration: Path | None) -> list[str]:
    if _MESSAGE_BUS == _DBUS_DAEMON:
        kind = "--session" if configuration is None else f"--config-file={configuration}"
        return ["dbus-daemon", kind, "--nofork", "--nopidfile", "--print-address=1"]
    assert _MESSAGE_BUS == "dbus-broker", _MESSAGE_BUS
    given = [] if configuration is None else [str(configuration)]
    return ["unshare", "--mount", sys.executable, "-m", "tests.dbus_broker", *given]
