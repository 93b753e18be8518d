"""The file that `wifimgrctl setup` writes: its keys, with comments, in TOML. Pure but for reading it."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from wifimgrd.config.configuration import Config, ConfigError, load
from wifimgrd.config.toml_tables import Document, TomlError

NAME: Final = "50-setup.toml"
Key = tuple[str, str]
"""A table, and a key in it."""
Values = Mapping[Key, str | bool]

COUNTRY: Final = ("radio", "country")
LISTEN: Final = ("http", "listen")
TOKEN: Final = ("http", "token_file")
BROKER: Final = ("mqtt", "broker")
USER: Final = ("mqtt", "user")
PASSWORD: Final = ("mqtt", "password_file")
COMMANDS: Final = ("mqtt", "commands")
STRICT: Final = ("catalog", "strict")
_COMMENTS: Final[Mapping[Key, str]] = {
    STRICT: "Whether only camera models of the catalog can be registered.",
    COUNTRY: "Where this hub is: the channels that its adapters may use.",
    LISTEN: "Where the page and the API are. The socket of systemd has the same address.",
    TOKEN: "Every client needs what is in this file.",
    BROKER: "The broker that this hub publishes to.",
    USER: "The user at the broker, whose password is in password_file.",
    PASSWORD: "Readable for the user wifimgrd-mqtt only.",
    COMMANDS: "Whether clients of the broker may command the cameras.",
}
"""The keys that the file may have, in their order."""
_UNITS: Final[Mapping[str, str]] = {
    "radio": "wifimgrd.service",
    "http": "wifimgrd-http.service",
    "mqtt": "wifimgrd-mqtt.service",
}
"""The units to restart after a change in a table; a reload is enough for the other tables."""


def read_values(file: Path) -> dict[Key, str | bool]:
    """The keys that the file has; none if there is no file. Raises ConfigError."""
    if not file.exists():
        return {}
    try:
        table = Document.read(file).table
    except TomlError as error:
        raise ConfigError(str(error)) from None
    values: dict[Key, str | bool] = {}
    for name, keys in table.items():
        for key, value in keys.items() if isinstance(keys, dict) else [("", keys)]:
            if (name, key) not in _COMMENTS or not isinstance(value, str | bool):
                shown = f"{name}.{key}".rstrip(".")
                raise ConfigError(f"{file}: setup does not know {shown}; move it to another file")
            values[name, key] = value
    return values


def text_of(values: Values) -> str:
    """The file with these keys; raises ConfigError for a text that cannot be in a file."""
    lines = ["# Written by `wifimgrctl setup`, which writes it anew each time. Every key: wifimgrd.toml(5)."]
    for table in dict.fromkeys(table for table, _ in _COMMENTS):
        keys = [key for key in _COMMENTS if key[0] == table and key in values]
        lines += ["", f"[{table}]"] if keys else []
        for key in keys:
            lines += [f"# {_COMMENTS[key]}", f"{key[1]} = {_written(key, values[key])}"]
    return "\n".join(lines) + "\n"


def _written(key: Key, value: str | bool) -> str:
    """A value in TOML, whose basic strings are those of JSON, but that a letter is never two escapes, and
    DEL is always one."""
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{'.'.join(key)}: expected text in UTF-8") from None
    return text


def checked(main: Path, text: str | None) -> Config:
    """The configuration as it would be with the file, or as it is; raises ConfigError with the names that
    files have here."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / main.name
        folder, drop_ins = copy.with_name(copy.name + ".d"), main.with_name(main.name + ".d")
        folder.mkdir()
        try:
            if main.exists():
                shutil.copyfile(main, copy)
            for file in sorted(drop_ins.glob("*.toml")):
                shutil.copyfile(file, folder / file.name)
        except OSError as error:
            raise ConfigError(f"{error.filename}: cannot be read: {error.strerror}") from None
        if text is not None:
            (folder / NAME).write_text(text, encoding="utf-8")
        copy.touch()
        try:
            return load(copy)
        except ConfigError as error:
            raise ConfigError(str(error).replace(str(scratch), str(main.parent))) from None


def refusal(main: Path, values: Values, key: Key) -> str:
    """Why the configuration cannot have these keys, `key` among them; empty if it can."""
    try:
        checked(main, text_of(values))
    except ConfigError as error:
        file = main.with_name(main.name + ".d") / NAME
        said = str(error).removeprefix(f"{file}: ").removeprefix(f"{'.'.join(key)}: ")
        return re.sub(r" \(at line \d+\)$", "", said)  # of a file that is not there yet
    return ""


def overridden(values: Values, config: Config) -> list[str]:
    """The keys that a later file sets otherwise."""
    return [f"[{table}] {key}" for (table, key), one in values.items() if _value(config, table, key) != one]


def units_to_restart(before: Config, after: Config) -> list[str]:
    """The services whose tables differ."""
    return [unit for table, unit in _UNITS.items() if getattr(before, table) != getattr(after, table)]


def _value(config: Config, table: str, key: str) -> Any:
    value = getattr(getattr(config, table), key)
    return str(value) if isinstance(value, Path) else value
