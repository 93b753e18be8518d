"""A camera model: the properties of every camera of one make and type."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Final

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.addresses import parse_port
from wifimgrd.domain.camera import CameraDriver
from wifimgrd.domain.checks import Check, expect, matching, within
from wifimgrd.domain.link_steps import CAMERA_STEPS, LinkStep

HTTP_PORT: Final = 80
_LONGEST_DATAGRAM: Final = 1400
"""Bytes that fit into one frame on every link."""
_LONGEST_BODY: Final = 1000
_LONGEST_INTRO: Final = 2000
_LONGEST_PATTERN: Final = 256
NAME6: Final = "{name6}"
"""The place of six characters of the network's name in a beacon."""
_Port = Annotated[int, within(1, 65535)]
_NotEmpty = Annotated[str, Check(str.strip, "a text that is not empty")]


def _is_path(text: str) -> bool:
    return re.fullmatch(r"/[!-~]*", text) is not None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return len(text) <= _LONGEST_PATTERN


def _is_address(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def _is_port(text: str) -> bool:
    try:
        parse_port(text)
    except ValueError:
        return False
    return True


def _is_interface(text: str) -> bool:
    try:
        ipaddress.IPv4Interface(text)
    except ValueError:
        return False
    return re.fullmatch(r"[0-9.]+/[0-9]{1,2}", text) is not None


class WakeMethod(StrEnum):
    """The way to wake a sleeping camera over Bluetooth LE."""

    CONNECT = "connect"
    """A connection, and the command that switches its Wi-Fi on."""
    BEACON = "beacon"
    """An advertisement of this host."""


class Addressing(StrEnum):
    """Where the host's address on a camera's network comes from."""

    DHCP = "dhcp"
    STATIC = "static"
    """The camera assigns none: the host takes the model's `local_address`."""


@dataclass(frozen=True, slots=True)
class Probe:
    """How the hub checks whether a camera answers."""

    port: _Port = HTTP_PORT
    """TCP. A refused connection is an answer, too."""
    path: str = ""
    """The target of a GET request; any status is an answer. Empty: the TCP connection is sufficient."""

    def __post_init__(self) -> None:
        expect(not self.path or _is_path(self.path), "path", 'a path such as "/osc/info"')


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """The message that prevents a camera from switching itself off."""

    interval_s: Annotated[float, within(1, 3600, "seconds")]
    port: _Port = HTTP_PORT
    path: str = ""
    """The target of a GET request, over TCP."""
    payload: str = ""
    """The text of a UDP datagram, in UTF-8."""

    def __post_init__(self) -> None:
        expect(bool(self.path) != bool(self.payload), "path", "either path (HTTP) or payload (UDP)")
        expect(not self.path or _is_path(self.path), "path", 'a path such as "/keep_alive"')
        size = len(self.payload.encode())
        expect(size <= _LONGEST_DATAGRAM, "payload", f"at most {_LONGEST_DATAGRAM} bytes")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where a camera gives a still of what it sees now: one JPEG, or a stream of them, of which the first is
    taken (`multipart/x-mixed-replace`)."""

    path: str
    """The target of a request at its HTTP port (HTTP_PORT)."""
    body: str = ""
    """The content of a POST request, in JSON; empty: it is a GET request."""
    while_recording: bool = True
    """Whether it may be asked while it records, or may record."""

    def __post_init__(self) -> None:
        is_target = _is_path(self.path) and not self.path.startswith("//") and "#" not in self.path
        expect(is_target, "path", 'a path such as "/still.jpg"')
        size = len(self.body.encode())
        expect(size <= _LONGEST_BODY, "body", f"at most {_LONGEST_BODY} bytes")
        is_json = not self.body or _is_json(self.body)
        expect(is_json, "body", 'JSON such as {"name": "camera.getLivePreview"}')


@dataclass(frozen=True, slots=True)
class Bluetooth:
    """How a camera is found over Bluetooth LE, and woken."""

    wake: WakeMethod
    service: str = ""
    """The UUID of the service that it advertises, as 16 or 128 bits, e.g. `fea6`."""
    name_pattern: str = ""
    """A regular expression that matches the whole name that it advertises."""
    beacon: str = ""
    """The advertisement of this host that wakes it: manufacturer data in hexadecimal, the company's id first,
    in little endian; `{name6}` are the six characters that the group `name6` of `ssid_pattern` matches."""
    pairing: bool = False
    """It has to be paired before it can be woken, and says then what its network and the password are."""
    registration: bool = False
    """It is paired while it is connected: it takes commands over Bluetooth of the hosts that have registered
    with it over its network, and of no others."""
    sleep: bool = False
    """It can be put to sleep so that it can be woken again."""
    wake_on_lan: bool = False
    """While its network is still on the air, a magic packet to its access point's address wakes it."""
    wake_timeout_s: Annotated[float, within(1, 300, "seconds")] = 60.0
    """How long it may take from the beginning of a wake to its network."""

    def __post_init__(self) -> None:
        expect(_is_pattern(self.name_pattern), "name_pattern", 'a regular expression such as "GoPro [0-9]+"')
        uuid = re.fullmatch(r"[0-9a-f]{4}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", self.service)
        expect(not self.service or uuid, "service", 'a UUID such as "fea6"')
        expect(self.service or self.name_pattern, "service", "either service or name_pattern, or both")
        is_beacon = self.wake is WakeMethod.BEACON
        expect(bool(self.beacon) == is_beacon, "beacon", 'bytes if wake is "beacon", and otherwise none')
        raw = self.beacon.replace(NAME6, "00" * 6)
        data = re.fullmatch(r"([0-9a-f]{2}){3,26}", raw) and self.beacon.count(NAME6) <= 1
        expect(not self.beacon or data, "beacon", '3 to 26 bytes in hexadecimal such as "4c000215{name6}"')
        expect(not self.pairing or self.wake is WakeMethod.CONNECT, "pairing", 'false if wake is "beacon"')
        expect(not self.registration or self.pairing, "registration", "false if pairing is")


@dataclass(frozen=True, slots=True)
class Control:
    """How a connected camera is spoken to."""

    driver: CameraDriver


class Evidence(StrEnum):
    """Who says that what the hub does with a model works."""

    MAKER = "maker"
    THIRD_PARTY = "third-party"
    """Somebody who has measured it, or written it down."""
    NONE = "not-verified"


@dataclass(frozen=True, slots=True)
class Verified:
    """Who says so for each thing that the hub can do with a model."""

    wake: Evidence = Evidence.NONE
    pair: Evidence = Evidence.NONE
    state: Evidence = Evidence.NONE
    record: Evidence = Evidence.NONE
    clock: Evidence = Evidence.NONE
    snapshot: Evidence = Evidence.NONE


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form in which a camera is registered."""

    name: _NotEmpty
    """The label of the field."""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Wizard:
    """The form in which a camera is registered."""

    ssid: FormField = FormField("Network name (SSID)")
    password: FormField = FormField("Password")
    intro: _NotEmpty = "Switch the camera's Wi-Fi on, then enter the name and the password of its network."
    """The first steps of the user, in plain text; an empty line starts a new paragraph."""

    def __post_init__(self) -> None:
        size = len(self.intro)
        expect(size <= _LONGEST_INTRO, "intro", f"at most {_LONGEST_INTRO} characters")


@dataclass(frozen=True, slots=True)
class CameraModel:
    """The properties of a model; unknown ones have their defaults."""

    codename: Annotated[str, matching(r"[a-z0-9]+(-[a-z0-9]+)*", "lower case words joined by dashes")]
    """Stored with each device, so it never changes."""
    device_name: _NotEmpty
    """For people."""
    icon: str = ""
    """The address of an icon of it: a path on the shim, or http(s)."""
    bands: tuple[Band, ...] = ()
    """The bands that its access point can use; empty if they are not known."""
    camera_address: str = ""
    """Its own IPv4 address on its network, if the link does not provide it."""
    addressing: Addressing = Addressing.DHCP
    local_address: str = ""
    """With static addressing: the host's address there, with its prefix, e.g. `192.168.1.30/24`."""
    ssid_pattern: str = ""
    """A regular expression that matches the whole factory name of its network; empty if it
    is not known."""
    oui: tuple[str, ...] = ()
    """The first three bytes of the MAC addresses of its access point, e.g. `d4:d9:19`."""
    hidden: bool = False
    """Its access point does not send its name."""
    probe: Probe = Probe()
    keep_alive: KeepAlive | None = None
    ports: tuple[_Port, ...] = (HTTP_PORT,)
    """The TCP ports at which clients of the hub reach it by HTTP."""
    snapshot: Snapshot | None = None
    """Where it gives stills; None if it does not, or if that is not known."""
    no_snapshot: str = ""
    """Why it gives none, as the end of a sentence; for people, in the documents."""
    pushes: tuple[str, ...] = ()
    """The ports of the host that the camera sends to by itself, e.g. `udp/8554`."""
    model_ids: tuple[Annotated[int, within(0, 255)], ...] = ()
    """The maker's numbers of it, as it advertises them over Bluetooth."""
    bluetooth: Bluetooth | None = None
    """How it is woken; None if it cannot be, or if that is not known."""
    recovery_steps: tuple[LinkStep, ...] = ()
    """Those of CAMERA_STEPS that it takes over Bluetooth, once it is paired."""
    control: Control | None = None
    """How its state is read, and how it is commanded; None if no driver is known."""
    wizard: Wizard = Wizard()
    verified: Verified = Verified()
    """Who says that it works; for people, in the documents."""
    sources: tuple[str, ...] = ()
    """Addresses of the pages with these properties."""

    def __post_init__(self) -> None:
        icon = re.fullmatch(r"(https?://[^\s/]+)?/[^\s]*", self.icon)
        expect(not self.icon or icon, "icon", 'a path or an address such as "https://cameras.example/x.svg"')
        expect(_is_pattern(self.ssid_pattern), "ssid_pattern", 'a regular expression such as "SKYCAM-[0-9]+"')
        raw = all(re.fullmatch(r"[0-9a-f]{2}(:[0-9a-f]{2}){2}", one) for one in self.oui)
        expect(raw, "oui", 'three bytes each, such as "d4:d9:19"')
        known = not self.camera_address or _is_address(self.camera_address)
        expect(known, "camera_address", 'an IPv4 address such as "192.168.42.1"')
        expect(
            bool(self.local_address) == (self.addressing is Addressing.STATIC),
            "local_address",
            'an address with its prefix if addressing is "static", and otherwise none',
        )
        for number, port in enumerate(self.pushes):
            expect(_is_port(port), f"pushes[{number}]", 'a port such as "udp/8554"')
        is_own = CAMERA_STEPS.issuperset(self.recovery_steps)
        expect(is_own, "recovery_steps", 'some of "camera-access-point", "reboot-camera"')
        needs_name = self.bluetooth is not None and NAME6 in self.bluetooth.beacon
        expect(
            not needs_name or "(?P<name6>" in self.ssid_pattern,
            "ssid_pattern",
            "a group (?P<name6>...), since the beacon has six characters of the name",
        )
        with_prefix = not self.local_address or _is_interface(self.local_address)
        expect(with_prefix, "local_address", 'an IPv4 address with its prefix such as "192.168.1.30/24"')


GENERIC: Final = CameraModel("generic-wifi-camera", "Wi-Fi camera")
"""The model of a camera with an unknown codename."""


class CameraModels(Mapping[str, CameraModel]):
    """Camera models by codename, in the order in which they are offered. `_`, `-` and case do not matter in a
    codename that is looked up: `Insta360_X3` is `insta360-x3`."""

    def __init__(self, models: Iterable[CameraModel] = ()) -> None:
        self._by_key = {codename_key(one.codename): one for one in models}

    def __getitem__(self, codename: str) -> CameraModel:
        return self._by_key[codename_key(codename)]

    def __iter__(self) -> Iterator[str]:
        return (one.codename for one in self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)


def closest_codename(codename: str, known: Iterable[str]) -> str:
    """The known codename that is the most similar to one that is not known; empty if there are none."""
    return _closest(codename_key(codename), tuple(known))


def codename_key(codename: str) -> str:
    """The key of a codename; codenames with the same key mean the same model."""
    return codename.replace("_", "").replace("-", "").casefold()


@lru_cache(maxsize=256)
def _closest(key: str, known: tuple[str, ...]) -> str:
    import difflib  # noqa: PLC0415 - 150 kB in each process, for a name that is rarely wrong

    by_key = {codename_key(one): one for one in known}
    near = difflib.get_close_matches(key, by_key, n=1, cutoff=0.0)
    return by_key[near[0]] if near else ""


def guess_model(models: Iterable[CameraModel], ssid: str | None, bssids: Iterable[str]) -> str:
    """The codename of the model that a network probably is of, by its name, else by the make of its access
    points; empty if none matches or several do equally."""
    listed = list(models)
    by_name = [one for one in listed if one.ssid_pattern and re.fullmatch(one.ssid_pattern, ssid or "")]
    ouis = {bssid[:8].lower() for bssid in bssids}
    by_make = [one for one in listed if ouis.intersection(one.oui)]
    both = [one for one in by_name if one in by_make]
    for fit in (both, by_name, by_make):
        if fit:
            return fit[0].codename if len(fit) == 1 else ""
    return ""
