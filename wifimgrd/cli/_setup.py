"""`wifimgrctl setup`: the settings that most hubs need, by a dialog or by options."""

from __future__ import annotations

import argparse
import asyncio
import difflib
import grp
import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wifimgrd.cli import _setup_file as setup_file
from wifimgrd.cli._password import UsageError, prompted, read_password_file
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import safe
from wifimgrd.config import DEFAULT_PATH, Config, ConfigError
from wifimgrd.web_address import ip_address_of, listen_address

_SOCKET: Final = Path("/etc/systemd/system/wifimgrd-http.socket.d/50-setup.conf")
_TOKEN: Final = "token"  # noqa: S105 - a file's name
_BROKER_PASSWORD: Final = "mqtt-password"  # noqa: S105 - a file's name
_SYSTEMCTL_S: Final = 120.0
_KEYS: Final = {
    "country": setup_file.COUNTRY,
    "listen": setup_file.LISTEN,
    "mqtt_broker": setup_file.BROKER,
    "mqtt_user": setup_file.USER,
    "mqtt_commands": setup_file.COMMANDS,
    "strict_models": setup_file.STRICT,
}
"""The keys of the options."""
_NOT_INSTALLED: Final = 5
"""The status of systemctl for a unit that is not there."""
_NOTHING: Final = "name at least one setting, such as --country DE; on a terminal it asks for them"


@dataclass
class _Plan:
    """What is to be written."""

    main: Path
    """The configuration file, beside whose drop-ins everything is."""
    values: dict[setup_file.Key, str | bool]
    secrets: dict[Path, tuple[str, str]] = field(default_factory=dict)
    """Files that only one service may read: their contents, and its group."""

    @property
    def file(self) -> Path:
        """The drop-in."""
        return self.main.with_name(self.main.name + ".d") / setup_file.NAME

    @property
    def is_of_service(self) -> bool:
        """Whether the services read it."""
        return self.main == DEFAULT_PATH


def setup(arguments: argparse.Namespace, screen: Screen) -> bool:
    """Change the settings that were given, or asked for; False if they cannot be used. Raises UsageError,
    InvalidRequest."""
    main = arguments.config or DEFAULT_PATH
    try:
        before = setup_file.checked(main, None)
        plan = _Plan(main, setup_file.read_values(_Plan(main, {}).file))
        given = {key: one for name, key in _KEYS.items() if (one := getattr(arguments, name)) is not None}
        if given or arguments.new_token:
            plan.values |= given
            _take(plan, before, arguments)
        elif sys.stdin.isatty() and not screen.json:
            _ask(plan, before)
        else:
            raise UsageError(_NOTHING)
        text = setup_file.text_of(plan.values)
        after = setup_file.checked(main, text)
        _check_access(after)
    except ConfigError as error:
        screen.fail("invalid-request", str(error))
        return False
    restarts = setup_file.units_to_restart(before, after)
    files = _files(plan, text, after)
    for key in setup_file.overridden(plan.values, after):
        screen.hint(f"{key} has no effect: a later file in {plan.file.parent} has it, too")
    return _carry_out(plan, files, restarts, arguments, screen)


# -- what is wanted


def _take(plan: _Plan, before: Config, arguments: argparse.Namespace) -> None:
    """The secrets that the command line asks for, and has in files."""
    if arguments.new_token:
        _new_token(plan)
    if arguments.mqtt_password_file is not None:
        _broker_password(plan, read_password_file(arguments.mqtt_password_file))
    elif arguments.mqtt_user and before.mqtt.password_file is None:
        raise UsageError("--mqtt-user needs --mqtt-password-file")


def _ask(plan: _Plan, before: Config) -> None:
    """Ask for each setting; an empty answer keeps it as it is."""
    country = _answer("Country of this hub, two letters", before.radio.country or "not set")
    if country:
        plan.values[setup_file.COUNTRY] = country.upper()
    listen = _answer("Address and port of the page and the API", before.http.listen)
    if listen:
        plan.values[setup_file.LISTEN] = listen
    if before.http.token_file is None and _is_open(listen or before.http.listen):
        answer = _answer("Other hosts need a token to use it then. Make one?", "yes")
        if answer.casefold() not in ("n", "no"):
            _new_token(plan)
    broker = _answer("MQTT broker, such as mqtts://broker.example", before.mqtt.broker or "none")
    if broker:
        plan.values[setup_file.BROKER] = "" if broker == "none" else broker
    if broker not in ("", "none"):
        user = _answer("User at the broker", before.mqtt.user or "none")
        if user not in ("", "none"):
            plan.values[setup_file.USER] = user
            _broker_password(plan, prompted(f"Password of {safe(user)} at the broker", ""))
        now = "yes" if before.mqtt.commands else "no"
        commands = _answer("May clients of the broker command the cameras?", now)
        if commands:
            plan.values[setup_file.COMMANDS] = commands.casefold() in ("y", "yes")
    strict = _answer("Accept only camera models of the catalog?", "yes" if before.catalog.strict else "no")
    if strict:
        plan.values[setup_file.STRICT] = strict.casefold() in ("y", "yes")


def _answer(question: str, now: str) -> str:
    sys.stderr.write(f"{question} [{safe(now)}]: ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise UsageError("the dialog has ended before its last question")
    return line.strip()


def _new_token(plan: _Plan) -> None:
    path = plan.main.with_name(_TOKEN)
    plan.values[setup_file.TOKEN] = str(path)
    plan.secrets[path] = (secrets.token_urlsafe(24), "wifimgrd-http")


def _broker_password(plan: _Plan, password: str) -> None:
    path = plan.main.with_name(_BROKER_PASSWORD)
    plan.values[setup_file.PASSWORD] = str(path)
    plan.secrets[path] = (password, "wifimgrd-mqtt")


def _check_access(after: Config) -> None:
    """Raise ConfigError for what the shim would refuse at its start."""
    http = after.http
    if _is_open(http.listen) and http.token_file is None and not http.insecure_without_token:
        raise ConfigError(
            f"http.listen: {http.listen} is for other hosts, too, and needs a token: --new-token"
        )


def _is_open(listen: str) -> bool:
    """Whether other hosts reach that address; one that cannot be read is refused later."""
    try:
        host, _ = listen_address(listen)
    except ValueError:
        return False
    address = ip_address_of(host)
    return address is None or not address.is_loopback


# -- what is done


def _files(plan: _Plan, text: str, after: Config) -> dict[Path, str]:
    """The files that differ from what they are, each with its new text."""
    files = {plan.file: text}
    if plan.is_of_service and (setup_file.LISTEN in plan.values or _SOCKET.exists()):
        lines = (
            "# Written by `wifimgrctl setup`.",
            "[Socket]",
            "ListenStream=",
            f"ListenStream={after.http.listen}",
        )
        files[_SOCKET] = "\n".join(lines) + "\n"
    return {path: new for path, new in files.items() if _read(path) != new}


def _carry_out(
    plan: _Plan,
    files: dict[Path, str],
    restarts: Sequence[str],
    arguments: argparse.Namespace,
    screen: Screen,
) -> bool:
    """Show what differs, and write it unless that is not wanted."""
    value = {"files": [str(path) for path in (*plan.secrets, *files)], "restarts": list(restarts)}
    if not files and not plan.secrets:
        screen.show(value | {"done": True}, ["Everything is set already."])
        return True
    is_asked = not arguments.yes and sys.stdin.isatty() and not screen.json
    if arguments.dry_run:
        screen.show(value | {"done": False}, _differences(plan, files), as_is=True)
        screen.hint("Nothing has been changed.")
        return True
    if is_asked:
        for line in _differences(plan, files):
            screen.hint(line)
        if _answer("Write this?", "yes").casefold() not in ("", "y", "yes"):
            screen.hint("Nothing has been changed.")
            return False
    try:
        for path, (secret, group) in plan.secrets.items():
            _write(path, secret + "\n", 0o640, group)
        for path, new in files.items():
            _write(path, new, 0o644)
    except OSError as error:
        screen.fail("not-authorized", f"{error.filename}: {error.strerror}; setup needs root")
        return False
    screen.show(value | {"done": True}, [f"{path} is written." for path in (*plan.secrets, *files)])
    return not plan.is_of_service or asyncio.run(_apply(restarts, screen, is_moved=_SOCKET in files))


def _differences(plan: _Plan, files: dict[Path, str]) -> list[str]:
    """What is going to be written; of secrets only where they are."""
    lines = [
        f"{path}: {'another' if path.exists() else 'new'}, for {group} only"
        for path, (_, group) in plan.secrets.items()
    ]
    for path, new in files.items():
        old = _read(path)
        source = "/dev/null" if old is None else str(path)
        lines += difflib.unified_diff(
            (old or "").splitlines(), new.splitlines(), source, str(path), lineterm=""
        )
    return lines


async def _apply(restarts: Sequence[str], screen: Screen, *, is_moved: bool) -> bool:
    """Reload the daemon, and restart what does not read the configuration again; links stay up."""
    commands: list[tuple[str, ...]] = [("restart", unit) for unit in restarts]
    if is_moved:  # a socket cannot be restarted while its service has it
        socket = (("daemon-reload",), ("stop", "wifimgrd-http.service"), ("restart", "wifimgrd-http.socket"))
        commands = [*socket, *commands]
    if "wifimgrd.service" not in restarts:
        commands.append(("reload", "wifimgrd.service"))
    for command in commands:
        line = " ".join(("systemctl", *command))
        try:
            status, said = await _systemctl(command)
        except (OSError, TimeoutError) as error:
            screen.fail("internal", f"{line}: {error or 'no answer'}")
            return False
        if status == _NOT_INSTALLED:
            screen.hint(f"{command[-1]} is not installed here.")
        elif status:
            screen.fail("internal", f"{line}: {said or status}")
            return False
        else:
            screen.hint(line)
    return True


async def _systemctl(command: Sequence[str]) -> tuple[int | None, str]:
    """The status of a command, and what it says. Raises OSError, TimeoutError."""
    process = await asyncio.create_subprocess_exec(
        "systemctl",
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(_SYSTEMCTL_S):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    return process.returncode, output.decode("utf-8", "replace").strip()


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None


def _write(path: Path, text: str, mode: int, group: str | None = None) -> None:
    """Replace a file as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.new")
    scratch.unlink(missing_ok=True)
    descriptor = os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if group is not None:
                _give(descriptor, group)
            os.fchmod(descriptor, mode)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def _give(descriptor: int, group: str) -> None:
    """Let a service's group read a file, if that group exists."""
    try:
        os.fchown(descriptor, -1, grp.getgrnam(group).gr_gid)
    except KeyError:
        return
