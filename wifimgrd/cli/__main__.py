"""`wifimgrctl`: the hub's command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Final

from wifimgrd.cli.arguments import parser
from wifimgrd.cli.commands import COMMANDS
from wifimgrd.cli.password import UsageError, read_password
from wifimgrd.cli.screen import Screen
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import BackendUnavailable, WifimgrdError

DONE: Final = 0
FAILED: Final = 1
INTERRUPTED: Final = 130
"""What shells give for a command that Ctrl-C ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 failed, 2 (raised) wrong usage."""
    grammar = parser()
    arguments = grammar.parse_args(argv)
    screen = Screen.of_process(json=arguments.json)
    try:
        if arguments.command == "add":
            arguments.password = read_password(arguments, Ssid(arguments.ssid).printable)
        done = asyncio.run(_run(arguments, screen))
        screen.out.flush()
    except UsageError as error:
        grammar.error(str(error))
    except WifimgrdError as error:
        screen.fail_with(error)
        return FAILED
    except KeyboardInterrupt:
        return DONE if arguments.command == "monitor" else INTERRUPTED
    except BrokenPipeError:
        # Whoever read the results has gone; Python must not stumble over that again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return DONE if done else FAILED


async def _run(arguments: argparse.Namespace, screen: Screen) -> bool:
    hub = HubClient(arguments.bus)
    await hub.start()
    try:
        if not hub.available and arguments.command != "monitor":
            raise BackendUnavailable(hub.reason)
        return await COMMANDS[arguments.command](hub, arguments, screen)
    finally:
        await hub.stop()


if __name__ == "__main__":
    sys.exit(main())
