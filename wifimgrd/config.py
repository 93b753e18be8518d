"""The configuration: `/etc/wifimgrd/wifimgrd.toml` and `wifimgrd.toml.d/*.toml`, strictly read.

Each class is a table of the file, each field a key with its default. An unknown key, a wrong type
or a value out of range stops the start with the file, the key and what was expected.
"""

from __future__ import annotations

import re
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final

from wifimgrd.domain.addresses import parse_network

DEFAULT_PATH: Final = Path("/etc/wifimgrd/wifimgrd.toml")

_TYPE_NAMES: Final[Mapping[object, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path",
}


class ConfigError(Exception):
    """The configuration cannot be used; the text names file and key and what was expected."""


@dataclass(frozen=True, slots=True)
class Platform:
    """`[platform]`: the host platform."""

    name: str = "platform"
    """Gives the plugin path segments, e.g. `platform_plugin_device_manager`."""

    def __post_init__(self) -> None:
        _expect(re.fullmatch(r"[A-Za-z0-9._-]+", self.name), "name", "letters, digits, . _ -")


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """`[backend]`: what joins networks."""

    name: str = "networkmanager"

    def __post_init__(self) -> None:
        _expect(self.name in ("networkmanager", "simulated"), "name", '"networkmanager" or "simulated"')


@dataclass(frozen=True, slots=True)
class Reserve:
    """`[[interfaces.reserve]]`: pins an adapter, by MAC address or USB port, to a device."""

    device: int | str
    """The device's id or name."""
    mac: str = ""
    usb_port: str = ""

    def __post_init__(self) -> None:
        _expect(bool(self.mac) != bool(self.usb_port), "mac", "either mac or usb_port")
        is_mac = re.fullmatch(r"([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}", self.mac)
        _expect(not self.mac or is_mac, "mac", "a MAC address such as 00:c0:ca:12:34:56")


@dataclass(frozen=True, slots=True)
class Interfaces:
    """`[interfaces]`: which interfaces the hub may use."""

    match: str = "usb"
    exclude: tuple[str, ...] = ()
    """Globs of interface names, listed but never taken."""
    reserve: tuple[Reserve, ...] = ()

    def __post_init__(self) -> None:
        _expect(self.match in ("usb", "any"), "match", '"usb" or "any"')


@dataclass(frozen=True, slots=True)
class Connect:
    """`[connect]`: attempts."""

    on_create: bool = True
    timeout_s: float = 20.0
    auto_reconnect: bool = True

    def __post_init__(self) -> None:
        _expect(1 <= self.timeout_s <= 600, "timeout_s", "1 to 600 seconds")


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """`[link]`: links that are up."""

    grace_s: float = 10.0
    """How long an interrupted link may take to come back."""

    def __post_init__(self) -> None:
        _expect(0 <= self.grace_s <= 600, "grace_s", "0 to 600 seconds")


@dataclass(frozen=True, slots=True)
class Catalog:
    """`[catalog]`: camera models."""

    strict: bool = False
    """Refuse a codename that the catalog does not have."""


@dataclass(frozen=True, slots=True)
class Radio:
    """`[radio]`: the air."""

    country: str | None = None
    """ISO 3166-1 alpha-2 code of the regulatory domain to set; None leaves it as it is."""

    def __post_init__(self) -> None:
        fits = self.country is None or re.fullmatch(r"[A-Z]{2}", self.country)
        _expect(fits, "country", 'two capital letters such as "DE"')


@dataclass(frozen=True, slots=True)
class Cameras:
    """`[cameras]`: how programs reach the cameras."""

    network: str = "10.77.0.0/24"
    """Where each device has an address of its own; empty = nowhere."""

    def __post_init__(self) -> None:
        expected = 'a network of this host\'s own, /16 to /30, such as "10.77.0.0/24", or ""'
        try:
            parse_network(self.network)
        except ValueError:
            _expect(fits=False, key="network", expected=expected)


@dataclass(frozen=True, slots=True)
class Http:
    """`[http]`: the shim."""

    listen: str = "127.0.0.1:8080"
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    token_file: Path | None = None

    def __post_init__(self) -> None:
        host, _, port = self.listen.rpartition(":")
        fits = bool(host) and port.isascii() and port.isdecimal() and int(port) < 65536
        _expect(fits, "listen", 'an address and a port such as "127.0.0.1:8080" or "[::1]:8080"')


@dataclass(frozen=True, slots=True)
class TileSource:
    """`[[tiles.source]]`: where tiles of a tileset come from; its sources are asked in order."""

    tileset: str
    type: str
    path: Path | None = None
    url: str | None = None
    """Of a tile server, with {z}, {x} and {y} in it."""
    missing: int | str = 404
    """What a tile that no source has is answered with; the tileset's first source decides."""

    def __post_init__(self) -> None:
        _expect(re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", self.tileset), "tileset", "a plain name")
        kinds = ("folder", "mbtiles", "pmtiles", "upstream")
        _expect(self.type in kinds, "type", '"folder", "mbtiles", "pmtiles" or "upstream"')
        upstream = self.type == "upstream"
        _expect((self.path is None) == upstream, "path", "a path, but none for an upstream")
        url = self.url or ""
        fits = re.fullmatch(r"https?://[^\s{}]+(\{[zxy]\}[^\s{}]*){3}", url) and all(
            url.count(one) == 1 for one in ("{z}", "{x}", "{y}")
        )
        _expect(
            fits if upstream else self.url is None, "url", "http://... with {z}, {x}, {y}, of an upstream"
        )
        _expect(self.missing in (404, 204, "blank"), "missing", '404, 204 or "blank"')


@dataclass(frozen=True, slots=True)
class Tiles:
    """`[tiles]`: offline maps."""

    source: tuple[TileSource, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be configured."""

    platform: Platform = field(default_factory=Platform)
    backend: BackendChoice = field(default_factory=BackendChoice)
    interfaces: Interfaces = field(default_factory=Interfaces)
    connect: Connect = field(default_factory=Connect)
    link: LinkSettings = field(default_factory=LinkSettings)
    catalog: Catalog = field(default_factory=Catalog)
    radio: Radio = field(default_factory=Radio)
    cameras: Cameras = field(default_factory=Cameras)
    http: Http = field(default_factory=Http)
    tiles: Tiles = field(default_factory=Tiles)


def load(path: Path | None = None) -> Config:
    """Read the configuration; raises ConfigError.

    Without `path` the default file is read, where it is there. The files in the folder of the
    same name with `.d` behind it come after it, in order of names: their keys win, their arrays
    of tables are added.
    """
    main = path or DEFAULT_PATH
    files = [main] if path is not None or main.exists() else []
    files += sorted(main.with_name(main.name + ".d").glob("*.toml"))
    merged: dict[str, Any] = {}
    for file in files:
        table = _parse(file)
        try:
            _build(Config, table, "")  # each by itself first, so that an error names its file
        except ValueError as error:
            raise ConfigError(f"{file}: {error}") from None
        _merge(merged, table)
    config = _build(Config, merged, "")
    assert isinstance(config, Config)  # noqa: S101 - for the type checker
    return config


def _parse(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: is no TOML: {error}") from None


def _merge(into: dict[str, Any], table: Mapping[str, Any]) -> None:
    for key, value in table.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        elif _is_array_of_tables(value) and _is_array_of_tables(into.get(key)):
            into[key] = [*into[key], *value]
        else:
            into[key] = value


def _is_array_of_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _build(table_class: type, table: object, where: str) -> object:
    """Make a table's class of a parsed table; raises ValueError with the key and what was expected."""
    if not isinstance(table, dict):
        raise ValueError(f"{where}: expected a table")  # noqa: TRY004 - one kind for all that is wrong
    hints = typing.get_type_hints(table_class)
    known = {one.name for one in fields(table_class)}
    for key in table:
        if key not in known:
            raise ValueError(
                f"{_joined(where, key)}: unknown key; expected one of {', '.join(sorted(known))}"
            )
    values = {key: _value(hints[key], value, _joined(where, key)) for key, value in table.items()}
    try:
        return table_class(**values)
    except TypeError:
        required = [one.name for one in fields(table_class) if one.name not in values]
        raise ValueError(f"{where}: expected the key {required[0]}") from None
    except ValueError as error:
        raise ValueError(_joined(where, str(error))) from None


def _value(hint: Any, value: Any, where: str) -> Any:
    """Check a value against a field's type and make what that type wants of it."""
    if is_dataclass(hint):
        return _build(typing.cast("type", hint), value, where)
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        if not isinstance(value, list):
            raise ValueError(f"{where}: expected a list")
        return tuple(_value(item, one, f"{where}[{number}]") for number, one in enumerate(value))
    choices = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    for choice in choices:
        if choice is float and type(value) in (int, float):
            return float(value)
        if choice is Path and type(value) is str:
            return Path(value)
        if type(value) is choice:
            return value
    expected = " or ".join(_TYPE_NAMES[choice] for choice in choices if choice in _TYPE_NAMES)
    raise ValueError(f"{where}: expected {expected}, not {value!r}")


def _joined(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _expect(fits: object, key: str, expected: str) -> None:
    if not fits:
        raise ValueError(f"{key}: expected {expected}")
