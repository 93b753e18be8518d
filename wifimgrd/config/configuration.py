"""The configuration: `/etc/wifimgrd/wifimgrd.toml` and `wifimgrd.toml.d/*.toml`, strictly read.

Each class is a table of the file, each field a key with its default. An unknown key, a wrong type
or a value out of range stops the start with the file, the key, what was expected, and the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from wifimgrd.config import catalog
from wifimgrd.config.toml_tables import Document, TomlError, TomlUnreadable, build, merge
from wifimgrd.config.web_address import (
    broker_address,
    listen_address,
    mavlink_address,
    plain_origin,
    web_socket_address,
)
from wifimgrd.domain.addresses import parse_network, parse_port, parse_share
from wifimgrd.domain.camera_model import CameraModels
from wifimgrd.domain.checks import Invalid, expect, matching, one_of, within, zero_or_within
from wifimgrd.domain.device_values import USB_PORT_PATTERN
from wifimgrd.domain.recovery import RECOVERY_STEPS

DEFAULT_PATH: Final = Path("/etc/wifimgrd/wifimgrd.toml")
TOPIC_LEVEL: Final = r"[A-Za-z0-9_-]{1,64}"
TOPIC_PREFIX: Final = rf"{TOPIC_LEVEL}(/{TOPIC_LEVEL}){{0,7}}"
"""The beginning of topics, as a pattern of a whole string."""
MOST_MAVLINK_CAMERAS: Final = 6
"""The components that MAVLink has for cameras."""
_PLAIN_NAME: Final = r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}"
"""A name that is part of paths."""


class ConfigError(Exception):
    """The configuration cannot be used; the text names the file, the key, the valid values and the line."""

    exit_status: ClassVar[int] = os.EX_CONFIG
    """With it a process that cannot start ends, and is not started again: only a person can mend it."""


class FileUnusable(ConfigError):
    """A file of the configuration, or one that it names, is not there, not whole, or cannot be read: that may
    pass, as where it is on a disk that is mounted later, or is being replaced."""

    exit_status = os.EX_IOERR


@dataclass(frozen=True, slots=True)
class Platform:
    """`[platform]`: the host platform."""

    name: Annotated[str, matching(r"[A-Za-z0-9._-]+", "letters, digits, . _ -")] = "platform"
    """Part of the plugin's paths, e.g. `platform_plugin_device_manager`."""


BACKENDS: Final = ("auto", "networkmanager", "wpa_supplicant", "simulated")


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """`[backend]`: the part that joins networks."""

    name: Annotated[str, one_of(BACKENDS)] = "auto"
    """`auto` is decided once per start, by what the host has."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """`[[interfaces.reserve]]`: reserves an adapter, by MAC address or USB port, for a device."""

    device: int | str
    """The device's id or name."""
    mac: str = ""
    usb_port: str = ""

    def __post_init__(self) -> None:
        expect(self.device != "", "device", "the id or the name of a device")
        expect(bool(self.mac) != bool(self.usb_port), "mac", "either mac or usb_port")
        is_mac = re.fullmatch(r"([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}", self.mac)
        expect(not self.mac or is_mac, "mac", "a MAC address such as 00:c0:ca:12:34:56")


@dataclass(frozen=True, slots=True)
class Interfaces:
    """`[interfaces]`: which interfaces the hub may use."""

    match: Annotated[str, one_of(("usb", "any"))] = "usb"
    exclude: tuple[str, ...] = ()
    """Globs of interface names; these interfaces are listed but never used."""
    reserve: tuple[Reserve, ...] = ()


@dataclass(frozen=True, slots=True)
class Adapters:
    """`[adapters]`: the host's settings of the adapters."""

    usb_autosuspend: bool = False
    """Whether the host may suspend a USB adapter also while a camera uses it."""


@dataclass(frozen=True, slots=True)
class ConnectGroup:
    """`[[connect.group]]`: devices that one command connects together."""

    name: Annotated[str, matching(_PLAIN_NAME, "a plain name")]
    devices: tuple[int | str, ...]
    """Their ids or names."""

    def __post_init__(self) -> None:
        expect(self.devices, "devices", "the ids or the names of devices")
        for number, one in enumerate(self.devices):
            expect(one != "", f"devices[{number}]", "the id or the name of a device")


@dataclass(frozen=True, slots=True)
class Connect:
    """`[connect]`: connection attempts."""

    on_create: bool = True
    timeout_s: Annotated[float, within(1, 600, "seconds")] = 20.0
    auto_reconnect: bool = True
    group: tuple[ConnectGroup, ...] = ()

    def __post_init__(self) -> None:
        names = [one.name for one in self.group]
        for number, name in enumerate(names):
            expect(name not in names[:number], f"group[{number}].name", "another name than a group before")


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """`[link]`: links that are up."""

    grace_s: Annotated[float, within(0, 600, "seconds")] = 10.0
    """The time limit for an interrupted link to be restored."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """`[catalog]`: camera models."""

    strict: bool = False
    """Refuse a codename that is not in the catalog."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """`[recovery]`: the steps for adapters that stop working, and for links that are up and dead."""

    enabled: bool = True
    steps: tuple[str, ...] = RECOVERY_STEPS
    """Those that may be taken, the gentler ones of each kind first, whatever the order of the list is."""
    silent_link_s: Annotated[float, zero_or_within(10, 3600, "seconds")] = 120.0
    """For how long a connected camera must have answered nothing; 0 = never."""
    power_ports: tuple[str, ...] = ()
    """The USB ports whose power may be switched."""
    camera_steps: bool = False
    """Restart a camera's access point, and reboot the camera, also without a command."""

    def __post_init__(self) -> None:
        written = ", ".join(f'"{step}"' for step in RECOVERY_STEPS)
        expect(set(self.steps) <= set(RECOVERY_STEPS), "steps", f"some of {written}")
        for number, one in enumerate(self.power_ports):
            port = re.fullmatch(USB_PORT_PATTERN, one)
            expect(port, f"power_ports[{number}]", 'a USB port such as "1-1.4"')
        expect(len(set(self.power_ports)) == len(self.power_ports), "power_ports", "each port once")


@dataclass(frozen=True, slots=True)
class Radio:
    """`[radio]`: the radio settings."""

    country: Annotated[str | None, matching(r"[A-Z]{2}", 'two capital letters such as "DE"')] = None
    """ISO 3166-1 alpha-2 code of the regulatory domain to set; None leaves it as it is."""


@dataclass(frozen=True, slots=True)
class Cameras:
    """`[cameras]`: how programs reach the cameras."""

    network: str = "10.77.0.0/24"
    """The network in which each device has an address of its own; empty = none."""
    share: tuple[str, ...] = ()
    """Networks whose hosts can reach the cameras at these addresses, through this host."""
    accept: tuple[str, ...] = ()
    """Ports of this host that cameras may send to, beside those that their models push to."""
    keep_recording: bool = False
    """Tell a camera again to record that should and does not."""
    set_clock: bool = True
    """Set the clock of a camera to this host's when it is connected."""

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
        for number, one in enumerate(self.accept):
            expect(_parses(parse_port, one), f"accept[{number}]", 'a port such as "udp/8554"')
        expect(len(set(self.accept)) == len(self.accept), "accept", "each port once")


@dataclass(frozen=True, slots=True)
class Http:
    """`[http]`: the shim."""

    listen: str = "127.0.0.1:8080"
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    token_file: Path | None = None
    """The file with the required token. A name without a folder is a systemd credential's, as below."""
    insecure_without_token: bool = False
    """Serve other hosts without a token: every client that reaches the shim can command the cameras."""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    fleet_broker: str = ""
    """Where browsers reach the broker of the page at `/fleet/`; empty = there is no such page."""

    def __post_init__(self) -> None:
        has_both = (self.tls_certificate is None) == (self.tls_key is None)
        expect(has_both, "tls_key", "a path if and only if tls_certificate has one")
        expected = 'an address and a port such as "127.0.0.1:8080" or "[::1]:8080"'
        expect(_parses(listen_address, self.listen), "listen", expected)
        for number, origin in enumerate(self.allowed_origins):
            expected = f'an origin such as "https://map.example" or "http://10.0.0.2:3000", not {origin!r}'
            expect(_parses(plain_origin, origin), f"allowed_origins[{number}]", expected)
        if not self.fleet_broker:
            return
        expected = 'an address such as "wss://broker.example:8084/mqtt", without user, password and IPv6'
        expect(_parses(web_socket_address, self.fleet_broker), "fleet_broker", expected)
        broker = web_socket_address(self.fleet_broker)
        expect(broker.tls or broker.is_loopback, "fleet_broker", "wss://, or ws:// to a loopback address")


@dataclass(frozen=True, slots=True)
class Mqtt:
    """`[mqtt]`: the bridge to a broker."""

    broker: str = ""
    """Empty = none."""
    user: str = ""
    password_file: Path | None = None
    """A name without a folder is a systemd credential's, here and in the files of TLS."""
    ca_file: Path | None = None
    """The authorities that may sign the broker's certificate; None = those of the host."""
    certificate: Path | None = None
    key: Path | None = None
    insecure_plaintext: bool = False
    """Use `mqtt://` also to other hosts: whoever is on the way reads everything, and sends commands."""
    hub: str = ""
    """This hub's id in topics; empty = derived from the machine id."""
    prefix: str = "wifimgrd"
    discovery_prefix: str = "homeassistant"
    """Of Home Assistant; empty = no discovery."""
    commands: bool = False

    def __post_init__(self) -> None:
        named = "letters, digits, _ - (and / between levels)"
        expect(re.fullmatch(TOPIC_PREFIX, self.prefix), "prefix", named)
        fits = not self.discovery_prefix or re.fullmatch(TOPIC_PREFIX, self.discovery_prefix)
        expect(fits and self.discovery_prefix != self.prefix, "discovery_prefix", f"{named}, not the prefix")
        expect(not self.hub or re.fullmatch(TOPIC_LEVEL, self.hub), "hub", "letters, digits, _ -")
        expect((self.certificate is None) == (self.key is None), "key", "a path where certificate has one")
        expect(not self.password_file or self.user, "user", "a name, because password_file is set")
        if not self.broker:
            return
        address = 'an address such as "mqtts://broker.example:8883", without user and password'
        expect(_parses(broker_address, self.broker), "broker", address)
        broker = broker_address(self.broker)
        is_safe = broker.tls or broker.is_loopback or self.insecure_plaintext
        expect(is_safe, "broker", "mqtts://, a loopback address, or insecure_plaintext = true")
        has_tls = self.ca_file is not None or self.certificate is not None
        expect(broker.tls or not has_tls, "broker", "mqtts://, because TLS files are set")


@dataclass(frozen=True, slots=True)
class Mavlink:
    """`[mavlink]`: the cameras for ground stations."""

    connection: str = ""
    """Of a router or a station, or an own address to listen at; empty = none."""
    system: Annotated[int, within(1, 255)] = 1
    """That of the vehicle."""
    devices: tuple[int | str, ...] = ()
    """Their ids or names; empty = the first six with a driver."""
    record_while_armed: bool = False
    signing_key_file: Path | None = None
    """A name without a folder is a systemd credential's."""
    insecure: bool = False
    """Use any address without a key: whoever reaches this process commands the cameras."""

    def __post_init__(self) -> None:
        is_set = len(set(self.devices)) == len(self.devices) <= MOST_MAVLINK_CAMERAS
        expect(is_set, "devices", f"at most {MOST_MAVLINK_CAMERAS} ids or names, each once")
        for number, one in enumerate(self.devices):
            expect(one != "", f"devices[{number}]", "the id or the name of a device")
        if not self.connection:
            return
        expected = 'an IP address and a port such as "udpout:127.0.0.1:14550" or "udpin:127.0.0.1:14560"'
        expect(_parses(mavlink_address, self.connection), "connection", expected)
        is_safe = mavlink_address(self.connection).is_loopback or self.signing_key_file is not None
        expect(
            is_safe or self.insecure, "connection", "a loopback address, signing_key_file or insecure = true"
        )


@dataclass(frozen=True, slots=True)
class TileSource:
    """`[[tiles.source]]`: one source of a tileset's tiles; the sources are used in order."""

    tileset: Annotated[str, matching(_PLAIN_NAME, "a plain name")]
    type: Annotated[str, one_of(("folder", "mbtiles", "pmtiles", "upstream"))]
    path: Path | None = None
    url: str | None = None
    """Of a tile server, with {z}, {x} and {y} in it."""
    missing: int | str = 404
    """The answer for a tile that no source has; that of the tileset's first source is used."""

    def __post_init__(self) -> None:
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
class Map:
    """`[map]`: the resources of the map of the platform's frontend."""

    style: Path | None = None
    """A MapLibre style; None = a default one for the archive of `tiles`."""
    resources: Path | None = None
    """A folder of fonts, sprites and other files that a style refers to."""
    tiles: Path | None = None
    """A PMTiles archive; None = that of the first source of type `pmtiles`."""
    contours: Path | None = None
    """A PMTiles archive of contour lines, or of heights."""


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """`[history]`: how much of the history is kept."""

    rows: Annotated[int, within(100, 1_000_000)] = 10_000
    days: Annotated[int, within(1, 3650)] = 90


@dataclass(frozen=True, slots=True)
class Config:
    """All tables of the configuration."""

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
    history: HistorySettings = field(default_factory=HistorySettings)
    http: Http = field(default_factory=Http)
    mqtt: Mqtt = field(default_factory=Mqtt)
    mavlink: Mavlink = field(default_factory=Mavlink)
    tiles: Tiles = field(default_factory=Tiles)
    map: Map = field(default_factory=Map)

    @property
    def map_tiles(self) -> Path | None:
        """The archive of the platform's map."""
        archives = (one.path for one in self.tiles.source if one.type == "pmtiles")
        return self.map.tiles or next(archives, None)


def load(path: Path | None = None) -> Config:
    """Read the configuration; raises ConfigError.

    Without `path` the default file is read, if it exists. The files in the folder of the
    same name with `.d` appended come after it, in order of names: their keys win, their arrays
    of tables are appended.
    """
    main = path or DEFAULT_PATH
    files = [main] if path is not None or main.exists() else []
    files += sorted(main.with_name(main.name + ".d").glob("*.toml"))
    merged: dict[str, Any] = {}
    for file in files:
        try:
            document = Document.read(file)
            document.build(Config)  # each file by itself first, so that an error names it
        except TomlUnreadable as error:
            raise FileUnusable(str(error)) from None
        except TomlError as error:
            raise ConfigError(str(error)) from None
        merge(merged, document.table)
    try:
        return build(Config, merged)
    except Invalid as invalid:
        raise ConfigError(f"{', '.join(map(str, files))}: {invalid}") from None


def load_models(path: Path | None = None, on_retired: catalog.OnRetired | None = None) -> CameraModels:
    """The camera models: those shipped, and the host's own in `catalog.d` beside the configuration
    that `load` reads; raises ConfigError. `on_retired` is told of keys in them that have no effect."""
    folder = (path or DEFAULT_PATH).with_name(catalog.FOLDER)
    try:
        return catalog.load(folder, on_retired) if on_retired else catalog.load(folder)
    except catalog.CatalogUnreadable as error:
        raise FileUnusable(str(error)) from None
    except catalog.CatalogError as error:
        raise ConfigError(str(error)) from None


def _parses(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True
