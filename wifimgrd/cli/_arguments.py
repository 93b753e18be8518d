"""The command line's grammar."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

from wifimgrd import __version__
from wifimgrd.cli import _values as values
from wifimgrd.cli._finding import meant
from wifimgrd.cli._screen import columns_of, write_line
from wifimgrd.cli._text import safe
from wifimgrd.config import Mqtt
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
_NO_SUCH_CHOICE: Final = re.compile(
    r"argument (?:COMMAND|ACTION): invalid choice: '(.*)' \(choose from (.*)\)"
)
HELP: Final = "help"
FAULT_OPTIONS: Final = (
    "interface",
    "seconds",
    "percent",
    "reason",
    "heals",
    "crashed",
    "hard",
    "drains",
    "off",
)
"""The options of faults, by their names in the simulated world, beside the camera's network."""
CONNECT_S: Final = 30.0
CONNECT_WITH_WAKE_S: Final = 180.0
"""How long `connect` waits, by default; with a wake before it the hub itself takes up to two minutes more."""
SEARCH_S: Final = 10
"""How long the command line searches for cameras over Bluetooth, by default."""
WAIT_S: Final = {WAKE.name: 130.0, SLEEP.name: 60.0, PAIR.name: 90.0}
"""How long each waits, by default: longer than the hub's own limits."""


class Parser(argparse.ArgumentParser):
    """A parser that suggests commands and options for one that does not exist, and shows the usage of the
    command that is wrong."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """See ArgumentParser; but there must be no argument that is not known, since the parser of a command
        would pass it to the one of all commands, which has another usage."""
        arguments, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [word.partition("=")[0] for word in unknown if word.startswith("-")]
            if not options:
                self.error(f'unexpected argument "{safe(unknown[0])}"')
            # Without what follows: it may be a password.
            known = [one for one in self._option_string_actions if one.startswith("--")]
            self.error(f'unknown option "{safe(options[0])}"{meant(options[0], known)}')
        return arguments, unknown

    def error(self, message: str) -> NoReturn:
        """See ArgumentParser."""
        found = _NO_SUCH_CHOICE.fullmatch(message)
        if found:
            known = [one.strip("' ") for one in found[2].split(",")]
            message = f'unknown command "{found[1]}"{meant(found[1], known)}'
        text = f"{self.prog}: {message}. See `{self.prog} --help`.".replace("?.", "?")
        for line in (*self.format_usage().splitlines(), text):
            write_line(sys.stderr, line, columns_of(sys.stderr))
        self.exit(2)


def parser() -> argparse.ArgumentParser:
    """The parser of `wifimgrctl`'s command line."""
    top = Parser(
        prog="wifimgrctl",
        usage="wifimgrctl [OPTIONS] [COMMAND ...]",
        description="Register, connect and watch Wi-Fi cameras. Without a command, list the devices.",
        epilog=(
            "DEVICE is an id or a name; with --broker, HUB/DEVICE."
            " Exit status: 0 success, 1 failure, 2 usage error."
            " `wifimgrctl help COMMAND` explains a command."
        ),
        parents=[_everywhere(), _broker()],
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"wifimgrctl {__version__}")
    top.set_defaults(json=False, bus=os.environ.get("WIFIMGRD_BUS") or "system", command="devices")
    top.set_defaults(broker=None, grammar=top)
    commands = top.add_subparsers(prog=top.prog, metavar="COMMAND")

    def command(name: str, help_text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            parents=[_everywhere(), *([_broker(is_brief=True)] if name in AT_BROKER else [])],
            help=help_text,
            description=help_text[0].upper() + help_text[1:] + ".",
            allow_abbrev=False,
        )
        sub.set_defaults(command=name, grammar=sub)
        return sub

    command("devices", "list the registered devices")
    command("hubs", "list the hubs on the broker given by --broker")
    command("interfaces", "list the Wi-Fi interfaces and the devices that use them")
    networks = command("networks", "scan for networks and list them")
    networks.add_argument("--interface", metavar="NAME", help="scan only on this interface")
    _add(command("add", "register a camera, and connect it at once if an interface is free"))
    _set(command("set", "change the settings of a device"))
    _import(command("import", "register the cameras of files, or say of each why it cannot be registered"))
    export = command("export", "write all cameras as a CSV file that import reads, without passwords")
    export.add_argument("file", metavar="FILE", nargs="?", type=Path, help="a new file (default: stdout)")
    models = command("models", "list the known camera models")
    models.add_argument("--config", type=Path, metavar="FILE", help="the configuration to read")
    remove = command("remove", "disconnect a device and remove it")
    _device(remove)
    remove.add_argument("--history", action="store_true", help="also delete its history")
    remove.add_argument(
        "--yes", action="store_true", help="do not ask first; without a terminal, nothing is asked either"
    )
    _device_commands(command)
    status = command("status", "show the state of the hub, or all details of one device")
    status.add_argument("device", metavar="DEVICE", nargs="?")
    history = command("history", "show the history, newest last")
    history.add_argument("device", metavar="DEVICE", nargs="?", help="the id or the name of a device")
    history.add_argument(
        "--since",
        type=values.moment,
        metavar="WHEN",
        help='show only entries since a time ("2026-11-20 17:00") or within a span (30min, 12h, 7d)',
    )
    _tiles(command("tiles", "list the configured map tilesets, or check them"))
    _bluetooth(command("bluetooth", "list the cameras heard over Bluetooth, search, or check that it works"))
    _simulate(command("simulate", "change the simulated world, where a hub has no real adapters"))
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
    command("watch", "show all cameras on one screen, with keys that connect, wake and record")
    help_ = command(HELP, "explain a command")
    help_.add_argument(
        "topic", metavar="COMMAND", nargs="?", choices=commands.choices, help="one of the commands"
    )
    help_.set_defaults(topics=commands.choices)
    completions = command("completions", "print the values for shell completion")
    completions.add_argument(
        "what", choices=("devices", "interfaces", "codenames"), help="the kind of values to list"
    )
    return top


def _device_commands(command: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """The commands to one device: what a table cannot have is their waiting."""
    connect = command(CONNECT.name, "connect devices and wait for the results")
    which = connect.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "devices", metavar="DEVICE", nargs="*", default=[], help="the ids or the names of devices"
    )
    which.add_argument("--all", action="store_true", help="connect every device that is not connected")
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
        _timeout(waiting, WAIT_S[name])
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
        action.set_defaults(action=name, grammar=action)
        action.add_argument(
            "--seconds",
            type=values.search_time,
            default=SEARCH_S,
            metavar="NUMBER",
            help=f"how long to search, at most {LONGEST_SEARCH_S} (default: {SEARCH_S})",
        )
    check.add_argument(
        "device", metavar="DEVICE", nargs="?", help="a device that is woken as the last step of the check"
    )


def _simulate(simulate: argparse.ArgumentParser) -> None:
    actions = simulate.add_subparsers(metavar="ACTION", required=True)

    def action(name: str, help_text: str) -> argparse.ArgumentParser:
        one = actions.add_parser(
            name,
            parents=[_everywhere()],
            help=help_text,
            description=help_text[0].upper() + help_text[1:] + ".",
            allow_abbrev=False,
        )
        one.set_defaults(action=name, grammar=one)
        return one

    camera = "the camera's network, or the id or the name of its device"
    action("power-on", "switch a camera on").add_argument("camera", metavar="CAMERA", help=camera)
    off = action("power-off", "switch a camera off")
    off.add_argument("camera", metavar="CAMERA", help=camera)
    off.add_argument("--cut", action="store_true", help="cut its power, so that it says nothing before")
    action("sleep", "put a camera to sleep, as it does by itself").add_argument(
        "camera", metavar="CAMERA", help=camera
    )
    for name, help_text in (
        ("plug", "plug an adapter in: the one that was unplugged, or a new one"),
        ("unplug", "unplug an adapter"),
    ):
        action(name, help_text).add_argument("adapter", metavar="INTERFACE", help="such as wlan1")
    fault = action("fault", "make something fail, or with --off work again")
    fault.add_argument(
        "kind", metavar="KIND", help="such as dhcp-dead; another word is answered with all kinds"
    )
    fault.add_argument("--off", action="store_true", default=argparse.SUPPRESS, help="end the fault")
    for option, metavar, read, help_text in (
        ("--camera", "CAMERA", str, "of one camera only"),
        ("--interface", "INTERFACE", str, "of one adapter only"),
        ("--seconds", "NUMBER", float, "how long something takes, or goes wrong"),
        ("--percent", "NUMBER", int, "the signal or the battery"),
        ("--reason", "WORD", str, "why a recording stops"),
        ("--heals", "STEP", str, "the recovery step that helps a stuck adapter"),
    ):
        fault.add_argument(option, metavar=metavar, type=read, default=argparse.SUPPRESS, help=help_text)
    for option, help_text in (
        ("--crashed", "the driver of a stuck adapter reports a crash"),
        ("--hard", "an adapter is blocked by its switch"),
        ("--drains", "a battery loses one percent each second"),
    ):
        fault.add_argument(option, action="store_true", default=argparse.SUPPRESS, help=help_text)


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


def _broker(*, is_brief: bool = False) -> Parser:
    """The options of a broker, named like the keys of `[mqtt]`; where they are `is_brief`, the help has only
    the first one."""
    options = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    broker = options.add_argument_group(
        "all hubs on an MQTT broker",
        "`wifimgrctl --help` has the options that go with it." if is_brief else "",
    )

    def explained(text: str) -> str:
        return argparse.SUPPRESS if is_brief else text

    broker.add_argument(
        "--broker",
        type=values.broker_at,
        metavar="mqtts://HOST[:8883]",
        help="an MQTT broker; hubs, devices, monitor and the commands to a device then cover all its hubs",
    )
    broker.add_argument(
        "--user",
        metavar="NAME",
        help=explained("the user name for the broker; its password comes from a prompt or a file"),
    )
    broker.add_argument(
        "--password-file",
        dest="broker_password_file",
        type=Path,
        metavar="FILE",
        help=explained("read the broker password from this file"),
    )
    broker.add_argument(
        "--ca-file",
        type=Path,
        metavar="FILE",
        help=explained("CA certificates that the broker's certificate is checked against"),
    )
    broker.add_argument("--certificate", type=Path, metavar="FILE", help=explained("a client certificate"))
    broker.add_argument(
        "--key", type=Path, metavar="FILE", help=explained("the private key of that certificate")
    )
    broker.add_argument(
        "--insecure-plaintext",
        action="store_true",
        help=explained("allow mqtt:// to other hosts, without TLS"),
    )
    broker.add_argument(
        "--prefix",
        type=values.topic_prefix,
        help=explained(f"the topic prefix of the hubs (default: {DEFAULT_PREFIX})"),
    )
    return options


def _tiles(tiles: argparse.ArgumentParser) -> None:
    actions = tiles.add_subparsers(metavar="ACTION", required=True)
    for name, help_text in (
        ("list", "list the sources of each tileset and whether they are usable"),
        ("check", "check all sources; exit with status 1 if anything is damaged or missing"),
    ):
        action = actions.add_parser(name, parents=[_everywhere()], help=help_text, allow_abbrev=False)
        action.set_defaults(action=name, grammar=action)
        action.add_argument("--config", type=Path, metavar="FILE", help="the configuration to read")
    action.add_argument("--tileset", metavar="NAME", help="check only this tileset")
    action.add_argument(
        "--bbox",
        type=values.box,
        metavar="W,S,E,N",
        help="list the missing tiles of this area",
    )
    action.add_argument(
        "--zoom", type=values.zooms, metavar="A-B", help="zoom levels to check in the area (default: all)"
    )
    action.add_argument(
        "--url", help="request a missing tile from the shim at this address, such as http://127.0.0.1:8080"
    )


def _add(add: argparse.ArgumentParser) -> None:
    network = _ssid(add, required=True)
    network.add_argument(
        "--qr",
        metavar="TEXT|-",
        help="the text of its QR code, WIFI:..., read from a prompt or from stdin with -; as an argument only"
        " that of an open network, since other users can read arguments",
    )
    network.add_argument(
        "--bluetooth",
        metavar="ADDRESS",
        nargs="?",
        const="",
        help="pair a camera that is in pairing mode over Bluetooth, and take network, password and model from"
        " it; without an address: the one that a search finds",
    )
    add.add_argument("--name", default=argparse.SUPPRESS, help="the name of the device (default: its SSID)")
    add.add_argument(
        "--codename",
        help=f"the camera's model (default: guessed from its network, or {DEFAULT_CODENAME})",
    )
    _password(add)
    _settings(add)
    _first_connection(add)


def _first_connection(command: argparse.ArgumentParser) -> None:
    first = command.add_mutually_exclusive_group()
    first.add_argument(
        "--when-free", action="store_true", help="if no adapter is free to connect it, let it wait for one"
    )
    first.add_argument("--no-connect", action="store_true", help="only register it")


def _import(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="a CSV file, a profile of NetworkManager, a directory of profiles, texts of QR codes (one a"
        " line), or - for stdin",
    )
    command.add_argument("--dry-run", action="store_true", help="show what would be done, and change nothing")
    command.add_argument(
        "--match", metavar="PATTERN", help="only networks whose name matches, such as 'X4 *.OSC'"
    )
    _first_connection(command)


def _ssid(command: argparse.ArgumentParser, *, required: bool) -> argparse._MutuallyExclusiveGroup:
    """The network, as text or as octets; without it there is no `ssid` among the arguments."""
    network = command.add_mutually_exclusive_group(required=required)
    network.add_argument(
        "--ssid", type=values.octets, default=argparse.SUPPRESS, help="the name of the camera's network"
    )
    network.add_argument(
        "--ssid-hex",
        dest="ssid",
        type=values.hexadecimal,
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
    _settings(change).add_argument(
        "--no-pin",
        dest="pin",
        action="store_const",
        const={},
        default=argparse.SUPPRESS,
        help="remove its reservation",
    )


def _settings(change: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """The settings that a new device and a registered one have alike; returns the group of the pins."""
    change.add_argument(
        "--priority",
        type=int,
        default=argparse.SUPPRESS,
        metavar="NUMBER",
        help="devices with a higher priority get an adapter first",
    )
    change.add_argument(
        "--auto-reconnect",
        type=values.switch,
        default=argparse.SUPPRESS,
        metavar="yes|no",
        help="whether to reconnect it automatically when its link is lost",
    )
    change.add_argument(
        "--auto-wake",
        type=values.switch,
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
    return pin


def _device(command: argparse.ArgumentParser) -> None:
    command.add_argument("device", metavar="DEVICE", help="the id or the name of a device")


def _timeout(group: argparse._ActionsContainer, default_s: float | None, default_text: str = "") -> None:
    shown = f"{default_s:g}" if default_s is not None else default_text
    group.add_argument(
        "--timeout",
        type=values.seconds,
        metavar="SECONDS",
        default=default_s,
        help=f"how long to wait; the operation continues after that (default: {shown})",
    )


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
