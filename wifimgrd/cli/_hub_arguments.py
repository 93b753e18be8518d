"""The arguments of the commands with actions, or settings of the hub, such as Bluetooth, simulate, setup."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from wifimgrd.cli import _values as values
from wifimgrd.cli._parser import Words, completed, everywhere
from wifimgrd.domain.camera import CameraDriver
from wifimgrd.domain.power import LONGEST_SEARCH_S

SEARCH_S: Final = 10
"""How long the command line searches for cameras over Bluetooth, by default."""
FAULT_OPTIONS: Final = (
    "interface",
    "seconds",
    "percent",
    "speed",
    "minutes",
    "reason",
    "connections",
    "heals",
    "crashed",
    "hard",
    "drains",
    "off",
)
"""The options of faults, by their names in the simulated world, beside the camera's network."""
FAULTS: Final = (
    "adapter-stuck", "backend-gone", "battery", "bluetooth-off", "bond-lost", "card-full",
    "card-missing", "card-slow", "clock-kept", "clock-off", "clock-zone", "command-unanswered",
    "control-garbage", "control-silent", "dead-firmware", "dead-link", "dead-service", "dhcp-dead",
    "no-power-switching", "out-of-range", "paused", "radio-trouble", "refuse-association",
    "refuses-recording", "rfkill", "scan-fails", "signal", "silent", "slow-join", "slow-leave",
    "stops-recording", "takes-photos", "time-lapse", "too-hot", "wifi-off",
)  # fmt: skip
"""Kinds of faults, for shells to complete: the simulator itself is not on each host."""
_WORDS_OF: Final = {"CAMERA": Words.DEVICES, "ADAPTER": Words.INTERFACES}
"""The words that complete a fault's options, by the name of the option's value."""


def _action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help_text: str
) -> argparse.ArgumentParser:
    """One of the actions of a command."""
    action = actions.add_parser(name, parents=[everywhere()], help=help_text, allow_abbrev=False)
    action.set_defaults(action=name, grammar=action)
    return action


def bluetooth_arguments(bluetooth: argparse.ArgumentParser) -> None:
    """Those of `bluetooth`."""
    bluetooth.set_defaults(action="list")
    actions = bluetooth.add_subparsers(metavar="ACTION")
    search = _action(actions, "search", "search, and list the cameras heard")
    check = _action(actions, "check", "check step by step that Bluetooth works with your camera")
    for action in (search, check):
        action.add_argument(
            "--seconds",
            type=values.search_time,
            default=SEARCH_S,
            metavar="NUMBER",
            help=f"how long to search, at most {LONGEST_SEARCH_S} (default: {SEARCH_S})",
        )
    woken = check.add_argument(
        "device", metavar="CAMERA", nargs="?", help="a camera that is woken as the last step of the check"
    )
    completed(woken, Words.DEVICES)


def tiles_arguments(tiles: argparse.ArgumentParser) -> None:
    """Those of `tiles`."""
    actions = tiles.add_subparsers(metavar="ACTION", required=True)
    for name, help_text in (
        ("list", "list the sources of each tileset and whether they are usable"),
        ("check", "check all sources; exit with status 1 if anything is damaged or missing"),
    ):
        action = _action(actions, name, help_text)
        action.add_argument("--config", type=Path, metavar="FILE", help="the configuration to read")
    action.add_argument("--tileset", metavar="NAME", help="check only this tileset")
    action.add_argument(
        "--url", help="request a missing tile from the shim at this address, such as http://127.0.0.1:8080"
    )


def camera_arguments(camera: argparse.ArgumentParser) -> None:
    """Those of `camera`."""
    actions = camera.add_subparsers(metavar="ACTION", required=True)
    trace = _action(actions, "trace", "write to a new file what a connected camera answers to its driver")
    completed(
        trace.add_argument("device", metavar="CAMERA", help="the id or the name of a camera"), Words.DEVICES
    )
    trace.add_argument("file", metavar="FILE", type=Path, help="a new file")
    trace.add_argument(
        "--driver",
        choices=[one.value for one in CameraDriver],
        help="try this driver instead of the one of the camera's model",
    )
    trace.add_argument(
        "--record", action="store_true", help="also start and stop a recording of a few seconds"
    )
    trace.add_argument("--yes", action="store_true", help="write the file without asking")


def adapter_arguments(adapter: argparse.ArgumentParser) -> None:
    """Those of `adapter`."""
    actions = adapter.add_subparsers(metavar="ACTION", required=True)
    check = _action(
        actions,
        "check",
        "scan, join and leave a camera that is on, and take each recovery step, with an idle adapter",
    )
    completed(check.add_argument("interface", metavar="ADAPTER", help="such as wlan1"), Words.INTERFACES)
    completed(
        check.add_argument(
            "--device", metavar="CAMERA", help="the camera to join (default: the one that is received best)"
        ),
        Words.DEVICES,
    )
    check.add_argument(
        "--seconds",
        type=values.seconds,
        default=60.0,
        metavar="NUMBER",
        help="how long data are exchanged with the camera (default: 60)",
    )


def simulate_arguments(simulate: argparse.ArgumentParser) -> None:
    """Those of `simulate`."""
    actions = simulate.add_subparsers(metavar="ACTION", required=True)

    def action(name: str, help_text: str) -> argparse.ArgumentParser:
        one = _action(actions, name, help_text)
        one.description = help_text[0].upper() + help_text[1:] + "."
        return one

    def camera(command: argparse.ArgumentParser) -> None:
        help_text = "the camera's network, or the id or the name of its device"
        completed(command.add_argument("camera", metavar="CAMERA", help=help_text), Words.DEVICES)

    camera(action("power-on", "switch a camera on"))
    off = action("power-off", "switch a camera off")
    camera(off)
    off.add_argument("--cut", action="store_true", help="cut its power, so that it says nothing before")
    camera(action("sleep", "put a camera to sleep, as it does by itself"))
    for name, help_text in (
        ("plug", "plug an adapter in: the one that was unplugged, or a new one"),
        ("unplug", "unplug an adapter"),
    ):
        adapter = action(name, help_text).add_argument("adapter", metavar="ADAPTER", help="such as wlan1")
        completed(adapter, Words.INTERFACES)
    fault = action("fault", "make something fail, or with --off work again")
    kind = fault.add_argument(
        "kind",
        metavar="KIND",
        help=(
            "such as dhcp-dead, adapter-stuck, or for a link that is up and dead: dead-link, dead-service,"
            " dead-firmware; another word is answered with all kinds"
        ),
    )
    completed(kind, FAULTS)
    fault.add_argument("--off", action="store_true", default=argparse.SUPPRESS, help="end the fault")
    for option, metavar, read, help_text in (
        ("--camera", "CAMERA", str, "of one camera only"),
        ("--interface", "ADAPTER", str, "of one adapter only"),
        ("--seconds", "NUMBER", float, "how long something takes, or goes wrong"),
        ("--percent", "NUMBER", int, "the signal or the battery"),
        ("--speed", "NUMBER", float, "how many seconds make one of a time lapse"),
        ("--minutes", "NUMBER", int, "the time zone of a clock, east of UTC"),
        ("--reason", "WORD", str, "why a recording stops"),
        ("--connections", "NUMBER", int, "how many connections over Bluetooth fail"),
        ("--heals", "STEP", str, "the recovery step that helps"),
    ):
        given = fault.add_argument(
            option, metavar=metavar, type=read, default=argparse.SUPPRESS, help=help_text
        )
        if metavar in _WORDS_OF:
            completed(given, _WORDS_OF[metavar])
    for option, help_text in (
        ("--crashed", "the driver of a stuck adapter reports a crash"),
        ("--hard", "an adapter is blocked by its switch"),
        ("--drains", "a battery loses one percent each second"),
    ):
        fault.add_argument(option, action="store_true", default=argparse.SUPPRESS, help=help_text)


def setup_arguments(setup: argparse.ArgumentParser) -> None:
    """Those of `setup`."""
    setup.add_argument("--country", metavar="CC", help="where this hub is, such as DE")
    setup.add_argument(
        "--listen", metavar="ADDRESS:PORT", help="where the page and the API are, such as 0.0.0.0:8080"
    )
    setup.add_argument("--new-token", action="store_true", help="make a token, which every client needs then")
    setup.add_argument("--mqtt-broker", metavar="ADDRESS", help="such as mqtts://broker.example; or none")
    setup.add_argument("--mqtt-user", metavar="NAME", help="the user at the broker")
    setup.add_argument(
        "--mqtt-password-file", metavar="FILE", type=Path, help="copy the user's password from this file"
    )
    setup.add_argument(
        "--mqtt-commands",
        metavar="yes|no",
        type=values.switch,
        help="whether clients of the broker may command the cameras",
    )
    setup.add_argument(
        "--strict-models", metavar="yes|no", type=values.switch, help="accept only models of the catalog"
    )
    setup.add_argument("--config", type=Path, metavar="FILE", help="another configuration, of no service")
    setup.add_argument(
        "--dry-run", action="store_true", help="show what would be written, and change nothing"
    )
    setup.add_argument("--yes", action="store_true", help="write it without asking")
