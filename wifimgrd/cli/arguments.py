"""The command line's grammar."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from wifimgrd import __version__
from wifimgrd.http.tiles.coordinates import DEEPEST, Box
from wifimgrd.http.tiles.source import numbers_of

_DEFAULT_CODENAME: Final = "generic-wifi-camera"
_LONGEST_TIMEOUT_S: Final = 86400.0


def parser() -> argparse.ArgumentParser:
    """The parser of `wifimgrctl`'s command line."""
    top = argparse.ArgumentParser(
        prog="wifimgrctl",
        description="Registers, connects and watches Wi-Fi cameras. Without a command it lists devices.",
        epilog="A DEVICE is named by its id or by its name. Exit status: 0 done, 1 failed, 2 wrong usage.",
        parents=[_everywhere()],
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"wifimgrctl {__version__}")
    top.set_defaults(json=False, bus=os.environ.get("WIFIMGRD_BUS") or "system", command="devices")
    commands = top.add_subparsers(metavar="COMMAND")

    def command(name: str, help_text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            parents=[_everywhere()],
            help=help_text,
            description=help_text[0].upper() + help_text[1:] + ".",
            allow_abbrev=False,
        )
        sub.set_defaults(command=name)
        return sub

    command("devices", "list the registered devices")
    command("interfaces", "list the Wi-Fi interfaces and who has them")
    networks = command("networks", "search the air and list the networks in it")
    networks.add_argument("--interface", metavar="NAME", help="search on this one alone")
    _add(command("add", "register a camera; it is connected at once where an interface is free"))
    _device(command("remove", "disconnect a device and forget it"))
    connect = command("connect", "connect a device and wait until that is done")
    _device(connect)
    waiting = connect.add_mutually_exclusive_group()
    waiting.add_argument("--no-wait", action="store_true", help="return as soon as the attempt runs")
    _timeout(waiting, 30)
    disconnect = command("disconnect", "disconnect a device and wait until that is done")
    _device(disconnect)
    _timeout(disconnect, 25)
    status = command("status", "show how the hub is, or everything about one device")
    status.add_argument("device", metavar="DEVICE", nargs="?")
    _tiles(command("tiles", "list the configured map tilesets, or check them"))
    command("diagnose", "gather what a report of a fault needs, with aliases for all names")
    backup = command("backup", "write devices and passwords into a file (root alone)")
    backup.add_argument("file", metavar="FILE", type=Path, help="a file that is not there yet")
    restore = command("restore", "take devices and passwords from a backup (root alone, wifimgrd stopped)")
    restore.add_argument("file", metavar="FILE", type=Path, help="what backup has written")
    restore.add_argument("--replace", action="store_true", help="forget the devices that are there")
    command("monitor", "print every change as it happens, until Ctrl-C")
    completions = command("completions", "print what can be typed next, for the completion of shells")
    completions.add_argument("what", choices=("devices", "interfaces"), help="of which there may be many")
    return top


def _everywhere() -> argparse.ArgumentParser:
    """The options that stand before or behind a command. Each parser needs its own: a default set
    on the outer one would else be the inner one's too, and undo what was said before the command."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON, in ASCII, for programs"
    )
    shared.add_argument(
        "--bus",
        metavar="session|system|ADDRESS",
        default=argparse.SUPPRESS,
        help="the message bus (default: $WIFIMGRD_BUS, else system)",
    )
    return shared


def _tiles(tiles: argparse.ArgumentParser) -> None:
    actions = tiles.add_subparsers(metavar="ACTION", required=True)
    for name, help_text in (
        ("list", "list the sources of each tileset, and whether they can be used"),
        ("check", "read through all sources; exit status 1 where something is damaged or missing"),
    ):
        action = actions.add_parser(name, parents=[_everywhere()], help=help_text, allow_abbrev=False)
        action.set_defaults(action=name)
        action.add_argument("--config", type=Path, metavar="FILE", help="the configuration to read")
    action.add_argument("--tileset", metavar="NAME", help="check this one alone")
    action.add_argument(
        "--bbox",
        type=_box,
        metavar="W,S,E,N",
        help="tell which tiles of this part of the world are missing",
    )
    action.add_argument("--zoom", type=_zooms, metavar="A-B", help="zooms of the box (default: all)")
    action.add_argument(
        "--url", help="address of the running shim, which is asked for a missing tile: http://127.0.0.1:8080"
    )


def _box(argument: str) -> Box:
    numbers = numbers_of(argument, 4)
    if numbers is None or not (-90 <= numbers[1] <= numbers[3] <= 90 and max(map(abs, numbers)) <= 180):
        raise argparse.ArgumentTypeError(f"{argument!r} is not west,south,east,north in degrees")
    return Box(*numbers)


def _zooms(argument: str) -> tuple[int, int]:
    first, dash, last = argument.partition("-")
    pair = (first, last if dash else first)
    if not all(one.isascii() and one.isdecimal() and len(one) < 3 for one in pair):
        raise argparse.ArgumentTypeError(f"{argument!r} is not a zoom or a range of them such as 0-14")
    lowest, highest = map(int, pair)
    if not lowest <= highest <= DEEPEST:
        raise argparse.ArgumentTypeError(f"{argument!r} is not a range of zooms from 0 to {DEEPEST}")
    return lowest, highest


def _add(add: argparse.ArgumentParser) -> None:
    network = add.add_mutually_exclusive_group(required=True)
    network.add_argument("--ssid", type=_octets, help="the name of the camera's network")
    network.add_argument(
        "--ssid-hex", dest="ssid", type=_hexadecimal, metavar="HEX", help="the same in hexadecimal"
    )
    add.add_argument("--name", help="what to call it (default: its SSID)")
    add.add_argument(
        "--codename", default=_DEFAULT_CODENAME, help=f"the camera's model (default: {_DEFAULT_CODENAME})"
    )
    password = add.add_mutually_exclusive_group()
    password.add_argument(
        "--password-file", type=Path, metavar="FILE", help="read the password from a file instead of a prompt"
    )
    password.add_argument("--password-stdin", action="store_true", help="read the password from stdin")
    password.add_argument("--open", action="store_true", help="the network is open and has no password")


def _device(command: argparse.ArgumentParser) -> None:
    command.add_argument("device", metavar="DEVICE", help="the id or the name of a device")


def _timeout(group: argparse._ActionsContainer, default_s: float) -> None:
    group.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        default=default_s,
        help=f"wait at most that long; what was begun goes on (default: {default_s:g})",
    )


def _octets(argument: str) -> bytes:
    """An argument as the octets that were typed, also where they are no text."""
    return os.fsencode(argument)


def _hexadecimal(argument: str) -> bytes:
    try:
        return bytes.fromhex(argument)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{argument!r} is not hexadecimal") from None


def _seconds(argument: str) -> float:
    try:
        seconds = float(argument)
    except ValueError:
        seconds = -1
    if not 0 < seconds <= _LONGEST_TIMEOUT_S:
        raise argparse.ArgumentTypeError(f"{argument!r} is not a number of seconds")
    return seconds


def joined(line: Sequence[str]) -> list[str]:
    """A command line whose --bbox has its value for certain: argparse takes one that begins with a
    minus for an option."""
    words: list[str] = []
    for word in line:
        if words and words[-1] == "--bbox" and re.match(r"-[0-9.]", word):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words
