"""The command line's grammar."""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, NoReturn

from wifimgrd import __version__
from wifimgrd.cli._finding import meant
from wifimgrd.config import TOPIC_PREFIX, Mqtt
from wifimgrd.domain.commands import (
    CAMERA,
    CONNECT,
    DEVICE_COMMANDS,
    DISCONNECT,
    PAIR,
    SET_CLOCK,
    SLEEP,
    UNPAIR,
    WAKE,
)
from wifimgrd.domain.power import LONGEST_SEARCH_S
from wifimgrd.tiles.coordinates import DEEPEST, Box
from wifimgrd.tiles.source import numbers_of
from wifimgrd.web_address import BrokerAddress, broker_address

DEFAULT_PREFIX: Final = Mqtt().prefix
DEFAULT_CODENAME: Final = "generic-wifi-camera"
RECORD: Final = "record"
STOP: Final = "stop"
_NAMES: Final = {SET_CLOCK.name: "clock"}
"""The names of commands to a device that are called otherwise here."""
COMMAND_OF: Final = {
    _NAMES.get(name, name): command
    for name, command in DEVICE_COMMANDS.items()
    if command.interface != CAMERA or name in _NAMES
}
"""The commands to one device, by their names on the command line; recording has its own for one and many."""
AT_BROKER: Final = frozenset({"hubs", "devices", "monitor", RECORD, STOP, *COMMAND_OF})
"""The commands that `--broker` has."""
BROKER_KEYS: Final = (
    "user",
    "broker_password_file",
    "ca_file",
    "certificate",
    "key",
    "insecure_plaintext",
    "prefix",
)
"""The arguments beside `--broker`, absent where they are not given."""
_SECONDS_OF: Final = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_NO_SUCH_CHOICE: Final = re.compile(
    r"argument (?:COMMAND|ACTION): invalid choice: '(.*)' \(choose from (.*)\)"
)
_LONGEST_TIMEOUT_S: Final = 86400.0
CONNECT_S: Final = 30.0
CONNECT_WITH_WAKE_S: Final = 180.0
"""How long `connect` waits, by default; with a wake before it the hub itself takes up to two minutes more."""
SEARCH_S: Final = 10
"""How long the command line searches for cameras over Bluetooth, by default."""
_WAIT_S: Final = {WAKE.name: 130.0, SLEEP.name: 60.0, PAIR.name: 90.0}
"""How long each waits, by default: longer than the hub's own limits."""


class Parser(argparse.ArgumentParser):
    """A parser that suggests commands for one that does not exist."""

    def error(self, message: str) -> NoReturn:
        """See ArgumentParser."""
        found = _NO_SUCH_CHOICE.fullmatch(message)
        if found:
            known = [one.strip("' ") for one in found[2].split(",")]
            message = f'unknown command "{found[1]}"{meant(found[1], known)}'
        super().error(message)


def parser() -> argparse.ArgumentParser:
    """The parser of `wifimgrctl`'s command line."""
    top = Parser(
        prog="wifimgrctl",
        description="Register, connect and watch Wi-Fi cameras. Without a command, list the devices.",
        epilog=(
            "DEVICE is an id or a name; with --broker, HUB/DEVICE."
            " Exit status: 0 success, 1 failure, 2 usage error."
        ),
        parents=[_everywhere(), _broker()],
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"wifimgrctl {__version__}")
    top.set_defaults(json=False, bus=os.environ.get("WIFIMGRD_BUS") or "system", command="devices")
    top.set_defaults(broker=None)
    commands = top.add_subparsers(metavar="COMMAND")

    def command(name: str, help_text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            parents=[_everywhere(), *([_broker()] if name in AT_BROKER else [])],
            help=help_text,
            description=help_text[0].upper() + help_text[1:] + ".",
            allow_abbrev=False,
        )
        sub.set_defaults(command=name)
        return sub

    command("devices", "list the registered devices")
    command("hubs", "list the hubs on the broker given by --broker")
    command("interfaces", "list the Wi-Fi interfaces and the devices that use them")
    command("groups", "list the groups of devices that one command connects")
    networks = command("networks", "scan for networks and list them")
    networks.add_argument("--interface", metavar="NAME", help="scan only on this interface")
    _add(command("add", "register a camera, and connect it at once if an interface is free"))
    _set(command("set", "change the settings of a device"))
    models = command("models", "list the known camera models")
    models.add_argument("--config", type=Path, metavar="FILE", help="the configuration to read")
    remove = command("remove", "disconnect a device and remove it")
    _device(remove)
    remove.add_argument("--history", action="store_true", help="also delete its history")
    _device_commands(command)
    status = command("status", "show the state of the hub, or all details of one device")
    status.add_argument("device", metavar="DEVICE", nargs="?")
    history = command("history", "show the history, newest last")
    history.add_argument("device", metavar="DEVICE", nargs="?", help="the id or the name of a device")
    history.add_argument(
        "--since",
        type=_moment,
        metavar="WHEN",
        help='show only entries since a time ("2026-11-20 17:00") or within a span (30min, 12h, 7d)',
    )
    _tiles(command("tiles", "list the configured map tilesets, or check them"))
    _bluetooth(command("bluetooth", "list the cameras heard over Bluetooth, search, or check that it works"))
    command("diagnose", "print a fault report in which aliases replace all names")
    backup = command("backup", "write devices and passwords to a file (root only)")
    backup.add_argument("file", metavar="FILE", type=Path, help="the file to create; it must not exist yet")
    backup.add_argument("--encrypt", action="store_true", help="encrypt the file with a passphrase")
    _passphrase(backup)
    restore = command("restore", "restore devices and passwords from a backup (root only, wifimgrd stopped)")
    restore.add_argument("file", metavar="FILE", type=Path, help="a file written by backup")
    restore.add_argument("--replace", action="store_true", help="replace the existing devices")
    _passphrase(restore)
    command("monitor", "print every change as it happens, until Ctrl-C")
    completions = command("completions", "print the values for shell completion")
    completions.add_argument(
        "what", choices=("devices", "interfaces", "codenames", "groups"), help="the kind of values to list"
    )
    return top


def _device_commands(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """The commands to one device: what a table cannot have is their waiting."""
    connect = command(CONNECT.name, "connect a device and wait for the result")
    which = connect.add_mutually_exclusive_group(required=True)
    which.add_argument("device", metavar="DEVICE", nargs="?", help="the id or the name of a device")
    which.add_argument("--all", action="store_true", help="connect every device that is not connected")
    which.add_argument(
        "--group",
        metavar="NAME",
        help="connect the devices of this group, and disconnect others if adapters are missing",
    )
    connect.add_argument(
        "--partial",
        action="store_true",
        help="with --group: if not all can have adapters, connect as many as possible",
    )
    connect.add_argument(
        "--when-free",
        action="store_true",
        help="if no adapter is free, let the device wait for one and return at once",
    )
    connect.add_argument(
        "--wake",
        action="store_true",
        help="if the camera's network is not seen, wake it over Bluetooth first",
    )
    waiting = connect.add_mutually_exclusive_group()
    waiting.add_argument("--no-wait", action="store_true", help="return as soon as the attempt has started")
    _timeout(waiting, None, f"{CONNECT_S:g}, or {CONNECT_WITH_WAKE_S:g} if the camera may be woken")
    disconnect = command(DISCONNECT.name, "disconnect a device and wait until it is disconnected")
    _device(disconnect)
    _timeout(disconnect, 25)
    wake = command(WAKE.name, "wake a sleeping camera over Bluetooth, and wait until it is awake")
    sleep = command(SLEEP.name, "disconnect a camera, put it to sleep, and wait until it is asleep")
    pair = command(PAIR.name, "pair a camera with this hub over Bluetooth, and wait for the result")
    for one, name in ((wake, WAKE.name), (sleep, SLEEP.name), (pair, PAIR.name)):
        _device(one)
        waiting = one.add_mutually_exclusive_group()
        waiting.add_argument("--no-wait", action="store_true", help="return as soon as it has started")
        _timeout(waiting, _WAIT_S[name])
    pair.add_argument(
        "--address",
        metavar="ADDRESS",
        default=argparse.SUPPRESS,
        help="the camera's Bluetooth address (default: the paired one, else the only one in pairing mode)",
    )
    _device(command(UNPAIR.name, "forget the pairing with a camera"))
    _device(command(_NAMES[SET_CLOCK.name], "set the clock of a camera to the time of its hub"))
    written = (CONNECT, DISCONNECT, WAKE, SLEEP, PAIR, UNPAIR, SET_CLOCK)
    for name, other in COMMAND_OF.items():
        if other not in written:
            _device(command(name, other.summary.lower().rstrip(".")))
    _recording(command(RECORD, "start recording on cameras, on all at the same moment"))
    _recording(command(STOP, "stop recording on cameras"))


def _recording(command: argparse.ArgumentParser) -> None:
    which = command.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "devices", metavar="DEVICE", nargs="*", default=[], help="the ids or the names of devices"
    )
    which.add_argument("--all", action="store_true", help="every connected camera that can be commanded")


def _bluetooth(bluetooth: argparse.ArgumentParser) -> None:
    bluetooth.set_defaults(action="list")
    actions = bluetooth.add_subparsers(metavar="ACTION")
    search = actions.add_parser(
        "search", parents=[_everywhere()], help="search, and list the cameras heard", allow_abbrev=False
    )
    check = actions.add_parser(
        "check",
        parents=[_everywhere()],
        help="check step by step that Bluetooth works with your camera",
        allow_abbrev=False,
    )
    for name, action in (("search", search), ("check", check)):
        action.set_defaults(action=name)
        action.add_argument(
            "--seconds",
            type=_search_time,
            default=SEARCH_S,
            metavar="NUMBER",
            help=f"how long to search, at most {LONGEST_SEARCH_S} (default: {SEARCH_S})",
        )
    check.add_argument(
        "device", metavar="DEVICE", nargs="?", help="a device that is woken as the last step of the check"
    )


def _search_time(argument: str) -> int:
    if not (argument.isascii() and argument.isdecimal() and 1 <= int(argument[:9]) <= LONGEST_SEARCH_S):
        raise argparse.ArgumentTypeError(f"{argument!r} is not a whole number from 1 to {LONGEST_SEARCH_S}")
    return int(argument)


def _passphrase(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--passphrase-file",
        type=Path,
        metavar="FILE",
        help="read the passphrase of an encrypted backup from this file (default: prompt)",
    )


def _everywhere() -> Parser:
    """The options that may come before or after a command. Each parser needs its own: a default set
    on the outer one would be the inner one's, too, and overwrite the options before the command."""
    shared = Parser(add_help=False)
    shared.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="print JSON (ASCII only) instead of text",
    )
    shared.add_argument(
        "--bus",
        metavar="session|system|ADDRESS",
        default=argparse.SUPPRESS,
        help="the message bus (default: $WIFIMGRD_BUS, else system)",
    )
    return shared


def _broker() -> Parser:
    """The options of a broker, named like the keys of `[mqtt]`."""
    broker = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    broker.add_argument(
        "--broker",
        type=_broker_address,
        metavar="mqtts://HOST[:8883]",
        help="an MQTT broker; hubs, devices, monitor and the commands to a device then cover all its hubs",
    )
    broker.add_argument(
        "--user",
        metavar="NAME",
        help="the user name for the broker; its password comes from a prompt or a file",
    )
    broker.add_argument(
        "--password-file",
        dest="broker_password_file",
        type=Path,
        metavar="FILE",
        help="read the broker password from this file",
    )
    broker.add_argument(
        "--ca-file",
        type=Path,
        metavar="FILE",
        help="CA certificates that the broker's certificate is checked against",
    )
    broker.add_argument("--certificate", type=Path, metavar="FILE", help="a client certificate")
    broker.add_argument("--key", type=Path, metavar="FILE", help="the private key of that certificate")
    broker.add_argument(
        "--insecure-plaintext", action="store_true", help="allow mqtt:// to other hosts, without TLS"
    )
    broker.add_argument(
        "--prefix", type=_prefix, help=f"the topic prefix of the hubs (default: {DEFAULT_PREFIX})"
    )
    return broker


def _broker_address(argument: str) -> BrokerAddress:
    try:
        return broker_address(argument)
    except ValueError:
        # Without the argument: it may have a password in it.
        raise argparse.ArgumentTypeError("expected mqtts://HOST[:PORT], without a user or password") from None


def _prefix(argument: str) -> str:
    if not re.fullmatch(TOPIC_PREFIX, argument):
        raise argparse.ArgumentTypeError(f"{argument!r} may contain only letters, digits, _, - and /")
    return argument


def _tiles(tiles: argparse.ArgumentParser) -> None:
    actions = tiles.add_subparsers(metavar="ACTION", required=True)
    for name, help_text in (
        ("list", "list the sources of each tileset and whether they are usable"),
        ("check", "check all sources; exit with status 1 if anything is damaged or missing"),
    ):
        action = actions.add_parser(name, parents=[_everywhere()], help=help_text, allow_abbrev=False)
        action.set_defaults(action=name)
        action.add_argument("--config", type=Path, metavar="FILE", help="the configuration to read")
    action.add_argument("--tileset", metavar="NAME", help="check only this tileset")
    action.add_argument(
        "--bbox",
        type=_box,
        metavar="W,S,E,N",
        help="list the missing tiles of this area",
    )
    action.add_argument(
        "--zoom", type=_zooms, metavar="A-B", help="zoom levels to check in the area (default: all)"
    )
    action.add_argument(
        "--url", help="request a missing tile from the shim at this address, such as http://127.0.0.1:8080"
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
        raise argparse.ArgumentTypeError(f"{argument!r} is not a zoom level or a range such as 0-14")
    lowest, highest = map(int, pair)
    if not lowest <= highest <= DEEPEST:
        raise argparse.ArgumentTypeError(f"{argument!r} is not a range of zoom levels from 0 to {DEEPEST}")
    return lowest, highest


def _add(add: argparse.ArgumentParser) -> None:
    _ssid(add, required=True).add_argument(
        "--bluetooth",
        metavar="ADDRESS",
        nargs="?",
        const="",
        help="pair a camera that is in pairing mode over Bluetooth, and take network, password and model from"
        " it; without an address: the one that a search finds",
    )
    add.add_argument("--name", help="the name of the device (default: its SSID)")
    add.add_argument(
        "--codename",
        help=f"the camera's model (default: guessed from its network, or {DEFAULT_CODENAME})",
    )
    _password(add)


def _ssid(command: argparse.ArgumentParser, *, required: bool) -> argparse._MutuallyExclusiveGroup:
    """The network, as text or as octets; without it there is no `ssid` among the arguments."""
    network = command.add_mutually_exclusive_group(required=required)
    network.add_argument(
        "--ssid", type=_octets, default=argparse.SUPPRESS, help="the name of the camera's network"
    )
    network.add_argument(
        "--ssid-hex",
        dest="ssid",
        type=_hexadecimal,
        metavar="HEX",
        default=argparse.SUPPRESS,
        help="the name of the network in hexadecimal",
    )
    return network


def _password(command: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    password = command.add_mutually_exclusive_group()
    password.add_argument(
        "--password-file", type=Path, metavar="FILE", help="read the password from a file instead of a prompt"
    )
    password.add_argument("--password-stdin", action="store_true", help="read the password from stdin")
    password.add_argument("--open", action="store_true", help="the network is open and has no password")
    return password


def _set(change: argparse.ArgumentParser) -> None:
    _device(change)
    change.add_argument("--name", default=argparse.SUPPRESS, help="the name of the device")
    _ssid(change, required=False)
    _password(change).add_argument("--ask-password", action="store_true", help="prompt for a new password")
    change.add_argument("--codename", default=argparse.SUPPRESS, help="the camera's model")
    change.add_argument(
        "--priority",
        type=int,
        default=argparse.SUPPRESS,
        metavar="NUMBER",
        help="devices with a higher priority get an adapter first",
    )
    change.add_argument(
        "--auto-reconnect",
        type=_switch,
        default=argparse.SUPPRESS,
        metavar="yes|no",
        help="whether to reconnect it automatically when its link is lost",
    )
    change.add_argument(
        "--auto-wake",
        type=_switch,
        default=argparse.SUPPRESS,
        metavar="yes|no",
        help="whether any attempt to connect may wake the camera, at most three times an hour",
    )
    pin = change.add_mutually_exclusive_group()
    pin.add_argument(
        "--pin-mac",
        dest="pin",
        type=lambda text: {"mac": text},
        default=argparse.SUPPRESS,
        metavar="MAC",
        help="reserve the adapter with this MAC address for it",
    )
    pin.add_argument(
        "--pin-usb-port",
        dest="pin",
        type=lambda text: {"usb_port": text},
        default=argparse.SUPPRESS,
        metavar="PORT",
        help="reserve the adapter at this USB port for it, such as 1-1.4",
    )
    pin.add_argument(
        "--no-pin",
        dest="pin",
        action="store_const",
        const={},
        default=argparse.SUPPRESS,
        help="remove its reservation",
    )


def _switch(argument: str) -> bool:
    if argument not in ("yes", "no"):
        raise argparse.ArgumentTypeError(f"{argument!r} is neither yes nor no")
    return argument == "yes"


def _moment(argument: str) -> int:
    """A point in time, microseconds since the epoch: local time, or a duration before now."""
    if found := re.fullmatch(r"([0-9]{1,6})(s|min|h|d)", argument):
        return time.time_ns() // 1000 - int(found[1]) * _SECONDS_OF[found[2]] * 1_000_000
    try:
        return int(datetime.fromisoformat(argument).astimezone().timestamp() * 1e6)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f'{argument!r} is neither a time such as "2026-11-20 17:00" nor a span such as 30min, 12h or 7d'
        ) from None


def _device(command: argparse.ArgumentParser) -> None:
    command.add_argument("device", metavar="DEVICE", help="the id or the name of a device")


def _timeout(group: argparse._ActionsContainer, default_s: float | None, default_text: str = "") -> None:
    shown = f"{default_s:g}" if default_s is not None else default_text
    group.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        default=default_s,
        help=f"how long to wait; the operation continues after that (default: {shown})",
    )


def _octets(argument: str) -> bytes:
    """An argument as the octets that were typed, even if they are not text."""
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
    """A command line in which --bbox and its value are one argument: argparse takes a value that begins
    with a minus for an option."""
    words: list[str] = []
    for word in line:
        if words and words[-1] == "--bbox" and re.match(r"-[0-9.]", word):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words
