"""`wifimgrctl setup`: the settings that most hubs need, by a dialog or by options."""

from __future__ import annotations

import argparse
import asyncio
import difflib
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wifimgrd.cli import _setup_file as setup_file
from wifimgrd.cli._password import UsageError, prompted, read_password_file
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._setup_dialog import ask, ask_switch, known_countries, tell
from wifimgrd.cli._setup_writing import NotWritten, write
from wifimgrd.cli._text import safe
from wifimgrd.config.configuration import DEFAULT_PATH, Config, ConfigError
from wifimgrd.config.web_address import ip_address_of, listen_address
from wifimgrd.domain.errors import InvalidRequest

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
_NEEDS_TOKEN: Final = "is for other hosts, too, and needs a token"  # noqa: S105 - words
_MAY_BE_NONE: Final = (setup_file.BROKER, setup_file.USER)
_NOTHING: Final = "name at least one setting, such as --country DE; on a terminal it asks for them"


@dataclass
class _Plan:
    """The values and the secrets to write."""

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
    main = (
        arguments.config or DEFAULT_PATH
    ).absolute()  # it writes paths that services read, which start elsewhere
    if main.is_dir():
        raise InvalidRequest(f"--config: {main} is a directory, and not a configuration file")
    try:
        before = setup_file.checked(main, None)
        plan = _Plan(main, setup_file.read_values(_Plan(main, {}).file))
        given = {name: one for name in _KEYS if (one := getattr(arguments, name)) is not None}
        if given or arguments.new_token:
            _take(plan, before, given, arguments)
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
    restarts = setup_file.units_to_restart(before, after) if plan.is_of_service else []
    if not plan.is_of_service and not main.exists():
        screen.hint(f"There is no file {safe(main)}: only what setup writes is made, in its folder.")
    files = _files(plan, text, after)
    for key in setup_file.overridden(plan.values, after):
        screen.hint(f"{key} has no effect: a later file in {plan.file.parent} has it, too")
    return _carry_out(plan, files, restarts, arguments, screen)


# -- what is wanted


def _take(
    plan: _Plan, before: Config, given: Mapping[str, str | bool], arguments: argparse.Namespace
) -> None:
    """Take the command line's values, and check each by itself so that an error names it; secrets are in
    files."""
    for name, one in given.items():
        key = _KEYS[name]
        value = _read_as(key, one) if isinstance(one, str) else one
        if problem := _problem(plan, key, value):
            raise ConfigError(f"--{name.replace('_', '-')}: {problem}")
        plan.values[key] = value
    if arguments.new_token:
        _new_token(plan)
    if arguments.mqtt_password_file is not None:
        if not (password := read_password_file(arguments.mqtt_password_file)):
            raise InvalidRequest(f"the password in {arguments.mqtt_password_file} is empty")
        _broker_password(plan, password)
    elif arguments.mqtt_user and before.mqtt.password_file is None:
        raise UsageError("--mqtt-user needs --mqtt-password-file")


def _ask(plan: _Plan, before: Config) -> None:
    """Ask for each setting, until its answer can be used; an empty answer keeps it as it is."""
    _ask_for(plan, setup_file.COUNTRY, "Country of this hub, two letters", before.radio.country or "not set")
    _ask_address(plan, before)
    broker = before.mqtt.broker or "none"
    if _ask_for(plan, setup_file.BROKER, "MQTT broker, such as mqtts://broker.example", broker):
        _ask_user(plan, before)
        commands = "May clients of the broker command the cameras?"
        _ask_whether(plan, setup_file.COMMANDS, commands, now=before.mqtt.commands)
    strict = "Accept only camera models of the catalog?"
    _ask_whether(plan, setup_file.STRICT, strict, now=before.catalog.strict)


def _ask_address(plan: _Plan, before: Config) -> None:
    """Where the page is; other hosts need a token there."""
    kept = dict(plan.values)
    question = "Address and port of the page and the API"
    while True:
        listen = _ask_for(plan, setup_file.LISTEN, question, before.http.listen) or before.http.listen
        if before.http.token_file is not None or not _is_open(listen):
            return
        if ask_switch("Other hosts need a token to use it then. Make one?", now=True):
            _new_token(plan)
            return
        if before.http.insecure_without_token:
            return
        tell(f"{listen} {_NEEDS_TOKEN}")
        plan.values = dict(kept)


def _ask_user(plan: _Plan, before: Config) -> None:
    """Who the hub is at the broker, and the password; "none" takes both away."""
    password = plan.values.pop(setup_file.PASSWORD, None)
    user = _ask_for(plan, setup_file.USER, "User at the broker", before.mqtt.user or "none")
    if user:
        _broker_password(plan, _asked_password(user))
    elif user is None and password is not None:
        plan.values[setup_file.PASSWORD] = password


def _asked_password(user: str) -> str:
    while not (password := prompted(f"Password of {safe(user)} at the broker", "")):
        tell("the password is empty")
    return password


def _ask_for(plan: _Plan, key: setup_file.Key, question: str, now: str) -> str | None:
    """The new value of a key, which is "" for "none"; None = it stays as it is."""
    answer = ask(question, now, lambda one: _problem(plan, key, _read_as(key, one)))
    if not answer:
        return None
    plan.values[key] = value = _read_as(key, answer)
    return value


def _read_as(key: setup_file.Key, text: str) -> str:
    """The value of a key that an option or an answer means."""
    if key == setup_file.COUNTRY:
        return text.upper() if text.isascii() else text
    return "" if text == "none" and key in _MAY_BE_NONE else text


def _ask_whether(plan: _Plan, key: setup_file.Key, question: str, *, now: bool) -> None:
    answer = ask_switch(question, now=now)
    if answer != now:
        plan.values[key] = answer


def _problem(plan: _Plan, key: setup_file.Key, value: str | bool) -> str:
    """Why a key cannot have a value, beside those that are set so far; empty if it can."""
    if problem := setup_file.refusal(plan.main, plan.values | {key: value}, key):
        return problem
    countries = known_countries() if key == setup_file.COUNTRY else None
    if countries is not None and value not in countries:
        return f"expected a country that the kernel has rules for, not {value}"
    return ""


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
        raise ConfigError(f"--listen: {http.listen} {_NEEDS_TOKEN}: --new-token")


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
        if not ask_switch("Write this?", now=True):
            screen.hint("Nothing has been changed.")
            return False
    while True:
        try:
            _write_all(plan, files)
            break
        except NotWritten as error:
            screen.fail("not-authorized" if error.lacks_rights else "internal", str(error))
            if not is_asked or not ask_switch("Try again?", now=False):
                return False
    screen.show(value | {"done": True}, [f"{path} is written." for path in (*plan.secrets, *files)])
    return not plan.is_of_service or asyncio.run(_apply(restarts, screen, is_moved=_SOCKET in files))


def _write_all(plan: _Plan, files: dict[Path, str]) -> None:
    """The secrets first, which the others name. Raises NotWritten."""
    for path, (secret, group) in plan.secrets.items():
        write(path, secret + "\n", 0o640, group)
    for path, new in files.items():
        write(path, new, 0o644)


def _differences(plan: _Plan, files: dict[Path, str]) -> list[str]:
    """The lines that are going to be written; for secrets only their files."""
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
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
