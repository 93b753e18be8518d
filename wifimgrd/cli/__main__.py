"""`wifimgrctl`: the hub's command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from wifimgrd.cli._adding import read_network
from wifimgrd.cli._arguments import BACKUP, HELP, RECORD, STOP, TAKES, parser
from wifimgrd.cli._commands import CHANGEABLE, COMMANDS
from wifimgrd.cli._parser import Words
from wifimgrd.cli._password import UsageError, read_password
from wifimgrd.cli._screen import Screen
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.commands import CONNECT
from wifimgrd.domain.errors import BackendUnavailable, WifimgrdError
from wifimgrd.runtime.hardening import forbid_core_dumps

_ENDLESS: Final = ("monitor", "watch")
"""The commands that go on until they are ended, even while the daemon is away."""
DONE: Final = 0
FAILED: Final = 1
_NO_BUS: Final = (
    "wifimgrd is not on the system bus. If you started it with `make run`, name its bus, the last word "
    "of the line that begins with `ready`: export WIFIMGRD_BUS=ADDRESS, or pass --bus ADDRESS. If it is "
    "installed, run systemctl status wifimgrd."
)
_OTHER_BUS: Final = (
    "No message bus is at the address that --bus or WIFIMGRD_BUS names. `make run` prints the address of "
    "its own, which stays the same, as the last word of the line that begins with `ready`."
)
_FROZEN: Final = (
    "wifimgrd runs, but does not answer: a command that it was given before may still be carried out. Its "
    "watchdog ends it and starts it again within a minute; its log says more: journalctl -u wifimgrd."
)
INTERRUPTED: Final = 130
"""The exit status of a command that Ctrl-C has ended, as in shells."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 failed, 2 (raised) wrong usage."""
    _replace_closed_streams()
    forbid_core_dumps()
    grammar = parser()
    arguments = grammar.parse_args(argv)
    if arguments.command == HELP:
        arguments.topics.get(arguments.topic, grammar).print_help()
        return DONE
    screen = Screen.of_process(json=arguments.json)
    try:
        if (check := _CHECKS.get(arguments.command)) is not None:
            check(arguments)
        if arguments.command == "add":
            read_network(arguments)
        elif arguments.command == "set":
            _read_change(arguments)
        if arguments.command == "setup":  # asks, which Ctrl-C ends at once only without an event loop
            from wifimgrd.cli._setup import setup  # noqa: PLC0415

            done = setup(arguments, screen)
        else:
            done = asyncio.run(_run(arguments, screen))
        screen.out.flush()
    except UsageError as error:
        arguments.grammar.error(str(error))
    except WifimgrdError as error:
        screen.fail_with(error)
        return FAILED
    except KeyboardInterrupt:
        return DONE if arguments.command in _ENDLESS else INTERRUPTED
    except OSError as error:
        # The reader of the results has closed the pipe, or a disk is full; Python must not fail on that
        # again at exit.
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"wifimgrctl: cannot write the results: {error.strerror}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return DONE if done else FAILED


def _read_change(arguments: argparse.Namespace) -> None:
    """Read a new password, if one is to be set; raises UsageError if nothing is to be changed."""
    if arguments.ask_password or arguments.password_file or arguments.password_stdin or arguments.open:
        arguments.password = read_password(arguments, f"the network of {arguments.device}")
    if not any(name in vars(arguments) for name in CHANGEABLE):
        raise UsageError("name at least one setting to change, such as --name NAME")


def _check_connect(arguments: argparse.Namespace) -> None:
    """Raise UsageError if a group is to be connected with options that only devices have, or vice versa."""
    if arguments.group is None:
        if arguments.partial:
            raise UsageError("--partial needs --group")
    elif arguments.when_free or arguments.wake or arguments.no_wait or arguments.timeout is not None:
        raise UsageError("--group has only the option --partial")


def _check_recording(arguments: argparse.Namespace) -> None:
    """Raise UsageError if a command to all is narrowed that names cameras."""
    if arguments.connected and not arguments.all:
        raise UsageError("--connected needs --all")


def _check_backup(arguments: argparse.Namespace) -> None:
    """Raise UsageError if stdout were to have JSON beside the backup."""
    if arguments.json and str(arguments.file) == "-":
        raise UsageError("--json needs a file")


def _check_takes(arguments: argparse.Namespace) -> None:
    """Raise UsageError if two forms of the result are wanted."""
    if arguments.json and arguments.csv:
        raise UsageError("--json and --csv are two forms of one result")


_CHECKS: Final[Mapping[str, Callable[[argparse.Namespace], None]]] = {
    CONNECT.name: _check_connect,
    RECORD: _check_recording,
    STOP: _check_recording,
    BACKUP: _check_backup,
    TAKES: _check_takes,
}
"""By command, the check that raises UsageError if the command's options do not go together."""


def _replace_closed_streams() -> None:
    """Use /dev/null for a standard stream that was closed before the start."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - for good


async def _run(arguments: argparse.Namespace, screen: Screen) -> bool:
    # Modules that only one command needs are imported here: importing takes time.
    match arguments.command:
        case "tiles":
            try:
                from wifimgrd.cli._tiles import tiles  # noqa: PLC0415
            except ModuleNotFoundError as error:
                screen.fail("internal", f"tiles: needs wifimgrd-http, which is not installed ({error})")
                return False
            return await tiles(arguments, screen)
        case "diagnose":
            from wifimgrd.cli._diagnose import diagnose  # noqa: PLC0415

            return await diagnose(arguments, screen)
        case "models":
            from wifimgrd.cli._models import models  # noqa: PLC0415

            return models(arguments, screen)
        case "completions" if arguments.what == Words.CODENAMES:
            from wifimgrd.cli._models import complete_codenames  # noqa: PLC0415

            return complete_codenames(screen)
        case "backup" | "restore":
            from wifimgrd.cli._backup import back_up_state, restore_state  # noqa: PLC0415

            return (back_up_state if arguments.command == "backup" else restore_state)(arguments, screen)
    hub = HubClient(arguments.bus, interactive=True)
    await hub.start()
    try:
        return await _run_on(hub, arguments, screen)
    except BackendUnavailable:
        if hub.is_silent:
            screen.hint(_FROZEN)
        raise
    finally:
        await hub.stop()


async def _run_on(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    if not hub.available and arguments.command not in _ENDLESS:
        if arguments.bus == "system" and not hub.is_silent:
            screen.hint(_NO_BUS)
        elif hub.reason.startswith("cannot connect"):
            screen.hint(_OTHER_BUS)
        raise BackendUnavailable(hub.reason)
    with hub.pinging():
        match arguments.command:
            case "camera":
                from wifimgrd.cli._camera_trace import camera  # noqa: PLC0415

                return await camera(hub, arguments, screen)
            case "adapter":
                from wifimgrd.cli._adapter_check import adapter  # noqa: PLC0415

                return await adapter(hub, arguments, screen)
        return await COMMANDS[arguments.command](hub, arguments, screen)


if __name__ == "__main__":
    sys.exit(main())
