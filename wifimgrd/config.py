"""The configuration: `/etc/wifimgrd/wifimgrd.toml` and `wifimgrd.toml.d/*.toml`, strictly read.

Each class is a table of the file, each field a key with its default. An unknown key, a wrong type
or a value out of range stops the start with the file, the key and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from wifimgrd import catalog
from wifimgrd.domain.addresses import parse_network, parse_share
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.toml_tables import build, expect, parse
from wifimgrd.web_address import listen_address, plain_origin

DEFAULT_PATH: Final = Path("/etc/wifimgrd/wifimgrd.toml")


class ConfigError(Exception):
    """The configuration cannot be used; the text names file and key and what was expected."""


@dataclass(frozen=True, slots=True)
class Platform:
    """`[platform]`: the host platform."""

    name: str = "platform"
    """Gives the plugin path segments, e.g. `platform_plugin_device_manager`."""

    def __post_init__(self) -> None:
        expect(re.fullmatch(r"[A-Za-z0-9._-]+", self.name), "name", "letters, digits, . _ -")


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """`[backend]`: what joins networks."""

    name: str = "networkmanager"

    def __post_init__(self) -> None:
        expect(self.name in ("networkmanager", "simulated"), "name", '"networkmanager" or "simulated"')


@dataclass(frozen=True, slots=True)
class Reserve:
    """`[[interfaces.reserve]]`: pins an adapter, by MAC address or USB port, to a device."""

    device: int | str
    """The device's id or name."""
    mac: str = ""
    usb_port: str = ""

    def __post_init__(self) -> None:
        expect(bool(self.mac) != bool(self.usb_port), "mac", "either mac or usb_port")
        is_mac = re.fullmatch(r"([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}", self.mac)
        expect(not self.mac or is_mac, "mac", "a MAC address such as 00:c0:ca:12:34:56")


@dataclass(frozen=True, slots=True)
class Interfaces:
    """`[interfaces]`: which interfaces the hub may use."""

    match: str = "usb"
    exclude: tuple[str, ...] = ()
    """Globs of interface names, listed but never taken."""
    reserve: tuple[Reserve, ...] = ()

    def __post_init__(self) -> None:
        expect(self.match in ("usb", "any"), "match", '"usb" or "any"')


@dataclass(frozen=True, slots=True)
class Adapters:
    """`[adapters]`: how the host treats the adapters."""

    usb_autosuspend: bool = False
    """Whether the host may suspend an adapter on USB also while a camera uses it."""


@dataclass(frozen=True, slots=True)
class Connect:
    """`[connect]`: attempts."""

    on_create: bool = True
    timeout_s: float = 20.0
    auto_reconnect: bool = True

    def __post_init__(self) -> None:
        expect(1 <= self.timeout_s <= 600, "timeout_s", "1 to 600 seconds")


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """`[link]`: links that are up."""

    grace_s: float = 10.0
    """How long an interrupted link may take to come back."""

    def __post_init__(self) -> None:
        expect(0 <= self.grace_s <= 600, "grace_s", "0 to 600 seconds")


@dataclass(frozen=True, slots=True)
class Catalog:
    """`[catalog]`: camera models."""

    strict: bool = False
    """Refuse a codename that the catalog does not have."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """`[recovery]`: what is tried with adapters that stop working."""

    enabled: bool = True
    steps: tuple[str, ...] = tuple(RecoveryStep)
    """Of "rescan", "restart", "replug", "quarantine"; taken in this order, whichever they are listed in."""

    def __post_init__(self) -> None:
        known = ", ".join(f'"{step}"' for step in RecoveryStep)
        expect(set(self.steps) <= set(RecoveryStep), "steps", f"some of {known}")


@dataclass(frozen=True, slots=True)
class Radio:
    """`[radio]`: the air."""

    country: str | None = None
    """ISO 3166-1 alpha-2 code of the regulatory domain to set; None leaves it as it is."""

    def __post_init__(self) -> None:
        fits = self.country is None or re.fullmatch(r"[A-Z]{2}", self.country)
        expect(fits, "country", 'two capital letters such as "DE"')


@dataclass(frozen=True, slots=True)
class Cameras:
    """`[cameras]`: how programs reach the cameras."""

    network: str = "10.77.0.0/24"
    """Where each device has an address of its own; empty = nowhere."""
    share: tuple[str, ...] = ()
    """Networks whose hosts reach the cameras at these addresses, through this host."""

    def __post_init__(self) -> None:
        expected = 'a network of this host\'s own, /16 to /30, such as "10.77.0.0/24", or ""'
        expect(_parses(parse_network, self.network), "network", expected)
        network = parse_network(self.network)
        for number, one in enumerate(self.share):
            key = f"share[{number}]"
            expect(_parses(parse_share, one), key, 'others\' network, /8 to /32, such as "192.168.8.0/24"')
            expect(network is not None, key, "nothing, since `network` is empty: cameras have no addresses")
            apart = network is None or not parse_share(one).overlaps(network)
            expect(apart, key, f"a network that does not overlap the cameras' own, {network}")


@dataclass(frozen=True, slots=True)
class Http:
    """`[http]`: the shim."""

    listen: str = "127.0.0.1:8080"
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    token_file: Path | None = None

    def __post_init__(self) -> None:
        expected = 'an address and a port such as "127.0.0.1:8080" or "[::1]:8080"'
        expect(_parses(listen_address, self.listen), "listen", expected)
        for number, said in enumerate(self.allowed_origins):
            expected = f'an origin such as "https://map.example" or "http://10.0.0.2:3000", not {said!r}'
            expect(_parses(plain_origin, said), f"allowed_origins[{number}]", expected)


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
        expect(re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", self.tileset), "tileset", "a plain name")
        kinds = ("folder", "mbtiles", "pmtiles", "upstream")
        expect(self.type in kinds, "type", '"folder", "mbtiles", "pmtiles" or "upstream"')
        upstream = self.type == "upstream"
        expect((self.path is None) == upstream, "path", "a path, but none for an upstream")
        url = self.url or ""
        fits = re.fullmatch(r"https?://[^\s{}]+(\{[zxy]\}[^\s{}]*){3}", url) and all(
            url.count(one) == 1 for one in ("{z}", "{x}", "{y}")
        )
        expect(fits if upstream else self.url is None, "url", "http://... with {z}, {x}, {y}, of an upstream")
        expect(self.missing in (404, 204, "blank"), "missing", '404, 204 or "blank"')


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
    adapters: Adapters = field(default_factory=Adapters)
    connect: Connect = field(default_factory=Connect)
    link: LinkSettings = field(default_factory=LinkSettings)
    catalog: Catalog = field(default_factory=Catalog)
    radio: Radio = field(default_factory=Radio)
    recovery: Recovery = field(default_factory=Recovery)
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
        try:
            table = parse(file)
            build(Config, table, "")  # each by itself first, so that an error names its file
        except ValueError as error:
            raise ConfigError(f"{file}: {error}") from None
        _merge(merged, table)
    return build(Config, merged, "")


def load_models(path: Path | None = None) -> catalog.Models:
    """The camera models: those shipped, and the host's own in `catalog.d` beside the configuration
    that `load` reads; raises ConfigError."""
    try:
        return catalog.load((path or DEFAULT_PATH).with_name(catalog.FOLDER))
    except catalog.CatalogError as error:
        raise ConfigError(str(error)) from None


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


def _parses(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True
