"""The arguments of the commands that register cameras and change them."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Final

from wifimgrd.cli import _values as values
from wifimgrd.cli._parser import Words, completed, device

DEFAULT_CODENAME: Final = "generic-wifi-camera"


def add_arguments(add: argparse.ArgumentParser) -> None:
    """Those of `add`."""
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
        type=values.bluetooth_address,
        help="pair a camera that is in pairing mode over Bluetooth, and take network, password and model from"
        " it; without an address: the one that a search finds",
    )
    add.add_argument("--name", default=argparse.SUPPRESS, help="the name of the camera (default: its SSID)")
    codename = add.add_argument(
        "--codename",
        help=f"the camera's model (default: guessed from its network, or {DEFAULT_CODENAME})",
    )
    completed(codename, Words.CODENAMES)
    _password(add)
    _settings(add)
    _first_connection(add)


def _first_connection(command: argparse.ArgumentParser) -> None:
    first = command.add_mutually_exclusive_group()
    first.add_argument(
        "--when-free", action="store_true", help="if no adapter is free to connect it, let it wait for one"
    )
    first.add_argument("--no-connect", action="store_true", help="only register it")


def import_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `import`."""
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
    """The network, as text or as bytes; the arguments have no `ssid` if it is not given."""
    network = command.add_mutually_exclusive_group(required=required)
    network.add_argument(
        "--ssid", type=values.data, default=argparse.SUPPRESS, help="the name of the camera's network"
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


def set_arguments(change: argparse.ArgumentParser) -> None:
    """Those of `set`."""
    device(change)
    change.add_argument("--name", default=argparse.SUPPRESS, help="the name of the device")
    _ssid(change, required=False)
    _password(change).add_argument("--ask-password", action="store_true", help="prompt for a new password")
    codename = change.add_argument("--codename", default=argparse.SUPPRESS, help="the camera's model")
    completed(codename, Words.CODENAMES)
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
        help="cameras with a higher priority get an adapter first",
    )
    for option, help_text in (
        ("--auto-reconnect", "whether to reconnect it automatically when its link is lost"),
        ("--auto-wake", "whether any attempt to connect may wake the camera, at most three times an hour"),
    ):
        change.add_argument(
            option, type=values.switch, default=argparse.SUPPRESS, metavar="yes|no", help=help_text
        )
    pin = change.add_mutually_exclusive_group()
    for option, reserved, metavar, help_text in (
        ("--pin-mac", "mac", "MAC", "reserve the adapter with this MAC address for it"),
        ("--pin-usb-port", "usb_port", "PORT", "reserve the adapter at this USB port for it, such as 1-1.4"),
    ):
        pin.add_argument(
            option,
            dest="pin",
            type=partial(_pin, reserved),
            default=argparse.SUPPRESS,
            metavar=metavar,
            help=help_text,
        )
    return pin


def _pin(reserved: str, text: str) -> dict[str, str]:
    return {reserved: text}
