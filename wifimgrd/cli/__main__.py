"""`wifimgrctl`: the hub's command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from wifimgrd.cli.arguments import joined, parser
from wifimgrd.cli.commands import COMMANDS
from wifimgrd.cli.password import UsageError, read_password
from wifimgrd.cli.screen import Screen
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import BackendUnavailable, WifimgrdError
from wifimgrd.runtime.hardening import forbid_core_dumps

DONE: Final = 0
FAILED: Final = 1
INTERRUPTED: Final = 130
"""What shells give for a command that Ctrl-C ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 failed, 2 (raised) wrong usage."""
    _replace_closed_streams()
    forbid_core_dumps()
    grammar = parser()
    arguments = grammar.parse_args(joined(sys.argv[1:] if argv is None else argv))
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
    except OSError as error:
        # Whoever read the results has gone, or a disk is full; Python must not stumble over that
        # again at its end.
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"wifimgrctl: the results cannot be written: {error.strerror}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return DONE if done else FAILED


def _replace_closed_streams() -> None:
    """Read from and write to nothing where a standard stream was closed before the start."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - for good


async def _run(arguments: argparse.Namespace, screen: Screen) -> bool:
    # What no other command needs is imported with it: it costs time.
    match arguments.command:
        case "tiles":
            try:
                from wifimgrd.cli.tiles import tiles  # noqa: PLC0415
            except ModuleNotFoundError as error:
                screen.fail("internal", f"tiles are read by wifimgrd-http, which is not installed ({error})")
                return False
            return await tiles(arguments, screen)
        case "diagnose":
            from wifimgrd.cli.diagnose import diagnose  # noqa: PLC0415

            return await diagnose(arguments, screen)
        case "backup" | "restore":
            from wifimgrd.cli.backup import back_up_state, restore_state  # noqa: PLC0415

            return (back_up_state if arguments.command == "backup" else restore_state)(arguments, screen)
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
