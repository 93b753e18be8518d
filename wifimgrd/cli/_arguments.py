"""The command line's grammar."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from wifimgrd import __version__
from wifimgrd.cli import _values as values
from wifimgrd.cli._hub_arguments import (
    adapter_arguments,
    bluetooth_arguments,
    camera_arguments,
    setup_arguments,
    simulate_arguments,
    tiles_arguments,
)
from wifimgrd.cli._parser import Parser, Words, completed, device, everywhere
from wifimgrd.cli._registering_arguments import add_arguments, import_arguments, set_arguments
from wifimgrd.domain.commands import (
    CAMERA,
    CONNECT,
    DEVICE_COMMANDS,
    DISCONNECT,
    PAIR,
    RECOVER,
    SET_CLOCK,
    SLEEP,
    UNPAIR,
    WAKE,
)
from wifimgrd.domain.link_steps import LinkStep

RECORD: Final = "record"
STOP: Final = "stop"
BACKUP: Final = "backup"
TAKES: Final = "takes"
CHECK: Final = "check"
_NAMES: Final = {SET_CLOCK.name: "clock"}
"""The names of commands to a device that are called otherwise here."""
COMMAND_OF: Final = {
    _NAMES.get(name, name.replace("_", "-")): command
    for name, command in DEVICE_COMMANDS.items()
    if command.interface != CAMERA or name in _NAMES
}
"""The commands to one device, by their names on the command line; recording has its own for one and many."""
HELP: Final = "help"
CONNECT_S: Final = 30.0
CONNECT_WITH_WAKE_S: Final = 180.0
"""How long `connect` waits, by default; with a wake before it the hub itself takes up to two minutes more."""
WAIT_S: Final = {WAKE.name: 130.0, SLEEP.name: 60.0, PAIR.name: 90.0, RECOVER.name: 300.0}
"""How long each waits, by default: longer than the hub's own limits, as they are by default."""


def parser() -> argparse.ArgumentParser:
    """The parser of `wifimgrctl`'s command line."""
    top = Parser(
        prog="wifimgrctl",
        usage="wifimgrctl [OPTIONS] [COMMAND ...]",
        description="Register, connect and watch Wi-Fi cameras. Without a command, list the cameras.",
        epilog=(
            "CAMERA is an id or a name."
            " Exit status: 0 success, 1 failure, 2 usage error."
            " Help for one command: `wifimgrctl help connect`."
        ),
        parents=[everywhere()],
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"wifimgrctl {__version__}")
    top.set_defaults(json=False, bus=os.environ.get("WIFIMGRD_BUS") or "system", command="devices")
    top.set_defaults(grammar=top)
    commands = top.add_subparsers(prog=top.prog, metavar="COMMAND")

    def command(name: str, help_text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            parents=[everywhere()],
            help=help_text,
            description=help_text[0].upper() + help_text[1:] + ".",
            allow_abbrev=False,
        )
        sub.set_defaults(command=name, grammar=sub)
        return sub

    command("devices", "list the registered cameras")
    command("interfaces", "list the Wi-Fi adapters and the cameras that use them")
    command("groups", "list the groups of cameras that one command connects")
    networks = command("networks", "scan for networks and list them")
    interface = networks.add_argument("--interface", metavar="NAME", help="scan only with this adapter")
    completed(interface, Words.INTERFACES)
    add_arguments(command("add", "register a camera, and connect it at once if an adapter is free"))
    set_arguments(command("set", "change the settings of a camera"))
    import_arguments(
        command("import", "register the cameras of files, or say of each why it cannot be registered")
    )
    export = command("export", "write all cameras as a CSV file that import reads, without passwords")
    export.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="a new file, or - for stdout (default: -)"
    )
    models = command("models", "list the known camera models")
    models.add_argument("--config", type=Path, metavar="FILE", help="the configuration to read")
    remove = command("remove", "disconnect a camera and remove it")
    device(remove)
    remove.add_argument("--history", action="store_true", help="also delete its history")
    remove.add_argument(
        "--yes", action="store_true", help="do not ask first; without a terminal, nothing is asked either"
    )
    _device_commands(command)
    status = command("status", "show the state of the hub, or all details of one camera")
    completed(status.add_argument("device", metavar="CAMERA", nargs="?"), Words.DEVICES)
    _check(command(CHECK, "say whether the rig is ready, and what stands in the way"))
    _history(command("history", "show the history, what began last at the end"))
    _takes(command(TAKES, "show which recordings belong together, newest last, and who was missing"))
    tiles_arguments(command("tiles", "list the configured map tilesets, or check them"))
    bluetooth_arguments(
        command("bluetooth", "list the cameras heard over Bluetooth, search, or check that it works")
    )
    camera_arguments(command("camera", "record what a camera answers, for a new driver or a report"))
    adapter_arguments(command("adapter", "check that an adapter does all that the hub needs of it"))
    simulate_arguments(command("simulate", "change the simulated world, where a hub has no real adapters"))
    command("diagnose", "print a fault report in which aliases replace all names")
    _backups(command)
    setup_arguments(
        command("setup", "set country, listen address, token, broker and catalog, in a dialog or by options")
    )
    command("monitor", "print every change as it happens, until Ctrl-C")
    command("watch", "show all cameras on one screen, with keys that connect, wake and record")
    completions = command("completions", "print the values for shell completion")
    completions.add_argument(
        "what", choices=[words.value for words in Words], help="the kind of values to list"
    )
    help_ = command(HELP, "explain a command")
    help_.add_argument(
        "topic", metavar="COMMAND", nargs="?", choices=tuple(commands.choices), help="one of the commands"
    )
    help_.set_defaults(topics=commands.choices)
    return top


def _check(check: argparse.ArgumentParser) -> None:
    which = check.add_mutually_exclusive_group()
    _devices(which)
    group = which.add_argument("--group", metavar="NAME", help="check the cameras of this group")
    completed(group, Words.GROUPS)
    check.add_argument("--recording", action="store_true", help="they must record now")
    check.add_argument(
        "--battery", type=values.percent, metavar="N", help="their batteries must be at N %% at least"
    )
    check.add_argument(
        "--minutes-left", type=values.count, metavar="N", help="they must be able to record for N minutes"
    )
    check.add_argument(
        "--clock-ms", type=values.count, metavar="N", help="their clocks must be right to N milliseconds"
    )


def _history(history: argparse.ArgumentParser) -> None:
    one = history.add_argument("device", metavar="CAMERA", nargs="?", help="the id or the name of a camera")
    completed(one, Words.DEVICES)
    history.add_argument(
        "--since",
        type=values.moment,
        metavar="WHEN",
        help='show only entries since a time ("2026-11-20 17:00") or within a span (30min, 12h, 7d)',
    )
    history.add_argument(
        "--signal",
        action="store_true",
        help="show the camera's signal and battery instead, minute by minute",
    )


def _takes(takes: argparse.ArgumentParser) -> None:
    takes.add_argument(
        "--since",
        type=values.moment,
        metavar="WHEN",
        help='show only takes since a time ("2026-11-20 17:00") or within a span (30min, 12h, 7d)',
    )
    takes.add_argument(
        "--csv", action="store_true", help="print a table for spreadsheets and scripts, newest first"
    )


def _backups(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    backup = command(BACKUP, "write cameras and passwords to a file (root only)")
    backup.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        help="the file to create, which must not exist yet, or - for stdout",
    )
    restore = command("restore", "restore cameras and passwords from a backup (root only, wifimgrd stopped)")
    restore.add_argument("file", metavar="FILE", type=Path, help="a file written by backup, or - for stdin")
    restore.add_argument("--replace", action="store_true", help="replace the existing cameras")


def _device_commands(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """The commands to one device: what a table cannot have is their waiting."""
    connect = command(CONNECT.name, "connect cameras and wait for the results")
    which = connect.add_mutually_exclusive_group(required=True)
    _devices(which)
    which.add_argument("--all", action="store_true", help="connect every camera that is not connected")
    group = which.add_argument(
        "--group",
        metavar="NAME",
        help="connect the cameras of this group, and disconnect others if adapters are missing",
    )
    completed(group, Words.GROUPS)
    connect.add_argument(
        "--partial",
        action="store_true",
        help="with --group: if not all can have adapters, connect as many as possible",
    )
    connect.add_argument(
        "--when-free",
        action="store_true",
        help="if no adapter is free, let the camera wait for one and return at once",
    )
    connect.add_argument(
        "--wake",
        action="store_true",
        help="if the camera's network is not seen, wake it over Bluetooth first",
    )
    waiting = connect.add_mutually_exclusive_group()
    waiting.add_argument("--no-wait", action="store_true", help="return as soon as the attempt has started")
    _timeout(waiting, None, f"{CONNECT_S:g}, or {CONNECT_WITH_WAKE_S:g} if the camera may be woken")
    disconnect = command(DISCONNECT.name, "disconnect a camera and wait until it is disconnected")
    device(disconnect)
    _timeout(disconnect, 25)
    wake = command(WAKE.name, "wake a sleeping camera over Bluetooth, and wait until it is awake")
    sleep = command(SLEEP.name, "disconnect a camera, put it to sleep, and wait until it is asleep")
    pair = command(PAIR.name, "pair a camera with this hub over Bluetooth, and wait for the result")
    recover = command(
        RECOVER.name,
        "take a recovery step for a connected camera that does not answer, and wait until it answers",
    )
    recover.description = (
        "Take a recovery step for a connected camera, and wait until it answers. Its link is down for some"
        " seconds, also where the camera answers, or records."
    )
    for one, name in (
        (wake, WAKE.name),
        (sleep, SLEEP.name),
        (pair, PAIR.name),
        (recover, RECOVER.name),
    ):
        device(one)
        waiting = one.add_mutually_exclusive_group()
        waiting.add_argument("--no-wait", action="store_true", help="return as soon as it has started")
        _timeout(waiting, WAIT_S[name])
    pair.add_argument(
        "--address",
        metavar="ADDRESS",
        default=argparse.SUPPRESS,
        help="the camera's Bluetooth address (default: the paired one, else the only one in pairing mode)",
    )
    recover.add_argument(
        "--step",
        choices=[step.value for step in LinkStep],
        default=argparse.SUPPRESS,
        help=(
            "the step (default: the first that is switched on, possible, and was not taken within the hour,"
            " else that of the longest ago)"
        ),
    )
    device(command(UNPAIR.name, "forget the pairing with a camera"))
    device(command(_NAMES[SET_CLOCK.name], "set the clock of a camera to the time of its hub"))
    written = (CONNECT, DISCONNECT, WAKE, SLEEP, PAIR, RECOVER, UNPAIR, SET_CLOCK)
    for name, other in COMMAND_OF.items():
        if other not in written:
            device(command(name, other.summary.lower().rstrip(".")))
    _recording(command(RECORD, "start recording on cameras, on all at the same moment"))
    _recording(command(STOP, "stop recording on cameras"))


def _devices(group: argparse._ActionsContainer) -> None:
    action = group.add_argument(
        "devices", metavar="CAMERA", nargs="*", default=[], help="the ids or the names of cameras"
    )
    completed(action, Words.DEVICES)


def _recording(command: argparse.ArgumentParser) -> None:
    which = command.add_mutually_exclusive_group(required=True)
    _devices(which)
    which.add_argument("--all", action="store_true", help="every camera of the rig, connected or not")
    command.add_argument(
        "--connected", action="store_true", help="with --all: only the cameras that are connected"
    )


def _timeout(group: argparse._ActionsContainer, default_s: float | None, default_text: str = "") -> None:
    shown = f"{default_s:g}" if default_s is not None else default_text
    group.add_argument(
        "--timeout",
        type=values.seconds,
        metavar="SECONDS",
        default=default_s,
        help=f"how long to wait; the operation continues after that (default: {shown})",
    )
