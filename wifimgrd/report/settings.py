"""Settings whose values could identify somebody: names, addresses, paths, URLs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from wifimgrd.report.anonymize import Anonymizer

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_SHOWN: Final = frozenset(
    {
        "backend.name",
        "interfaces.match",
        "radio.country",
        "recovery.steps",
        "recovery.power_ports",
        "cameras.network",
        "cameras.accept",
        "tiles.source.type",
    }
)
"""Settings whose texts have one of some known forms, which identify nobody."""
_LOGGED: Final = re.compile(
    r"(platform|interfaces\.reserve\.device|connect\.group\.devices|http|mqtt|mavlink|tiles|map)(\..*)?"
)
"""Settings that are logged, or stand in errors, and whose values are not needed to understand those."""
_PLAIN: Final = "tiles.source.tileset"
"""Names that may be any word, so that they are replaced only where they are a field of a line."""
_SET: Final = "(set)"
_BROKER: Final = re.compile(r"\b(?:mqtts?|wss?)://(?:\[(?P<ipv6>[^\s\]]{1,64})\]|(?P<host>[\w.-]{1,255}))")
_STATION: Final = re.compile(
    r"\budp(?:in|out):(?:\[(?P<ipv6>[^\s\]]{1,64})\]|(?P<ipv4>[0-9.]{7,15}))"
    r"|\b(?:station_appeared|frame_refused)\b.{0,100}?\baddress=(?P<address>[\w.:%]{2,64})"
)
_URL: Final = re.compile(r"\burl=['\"]?(?P<url>https?://[^\s'\"]{1,2048})")
_PATH: Final = re.compile(
    r"\b(?:path|certificate)=(?:(?P<quote>['\"])(?P<quoted>/.{0,4096}?)(?P=quote)|(?P<path>/\S*))"
)
_ROOT: Final = re.compile(
    r"(?:\btopics=|\bbelow=|\bpublishes as |\bwrite below )(?P<root>[\w-]+(?:/[\w-]+)+)"
)
_TOPIC: Final = re.compile(
    r"(?:\btopic=|\bsubscription to |(?<=['\"]))(?P<root>[\w-]+(?:/[\w-]+)+?)/"
    r"(?:(?:availability|hub|devices|interfaces|events|command|result|response|discovery|claim|marker)(?![\w-])|#)"
)
_DISCOVERY: Final = re.compile(
    r"(?<![\w/-])(?P<prefix>[\w-]+(?:/[\w-]+)*)/device/wifimgrd_(?P<hub>[\w-]+)_(?:hub|[0-9]+)/config"
)
_OTHER_TOPIC: Final = re.compile(
    r"\btopic=(?:(?P<quote>['\"])(?P<quoted>.{1,600}?)(?P=quote)|(?P<topic>\S+))"
)
_OF_HOME_ASSISTANT: Final = "homeassistant"
"""The prefix that most hubs have, which identifies nobody."""


def settings_of(config: DataclassInstance) -> dict[str, Any]:
    """The configuration without names, addresses, paths and URLs."""
    settings: dict[str, Any] = _without_texts(dataclasses.asdict(config), "")
    return settings


def hide_settings(aliases: Anonymizer, config: DataclassInstance, defaults: DataclassInstance) -> None:
    """Have aliases in place of what the settings name; values of `defaults` name nobody."""
    known = {text for _, text in _texts(dataclasses.asdict(defaults), "")}
    for path, text in _texts(dataclasses.asdict(config), ""):
        if text not in known and path not in _SHOWN and path != _PLAIN and _LOGGED.fullmatch(path):
            aliases.hide("SETTING", _names_in(text))


def hide_logged(aliases: Anonymizer, texts: Iterable[str]) -> None:
    """The same for what the hub's programs have logged of their settings, which may have been others, or
    cannot be read."""
    for text in texts:
        for found in _BROKER.finditer(text):
            aliases.hide("SETTING", _hosts(found["ipv6"] or found["host"]))
        for found in _STATION.finditer(text):
            aliases.hide("SETTING", _hosts(found["ipv6"] or found["ipv4"] or found["address"]))
        for found in _URL.finditer(text):
            aliases.hide("SETTING", _names_in(found["url"]))
        for found in _PATH.finditer(text):
            aliases.hide("SETTING", _names_in(found["quoted"] or found["path"]))
        for pattern in (_ROOT, _TOPIC):
            for found in pattern.finditer(text):
                prefix, _, hub = found["root"].rpartition("/")
                aliases.hide("SETTING", [hub] if prefix == "wifimgrd" else [hub, prefix])
        for found in _DISCOVERY.finditer(text):
            prefix, hub = found["prefix"], found["hub"]
            aliases.hide("SETTING", [hub] if prefix == _OF_HOME_ASSISTANT else [hub, prefix])
        for found in _OTHER_TOPIC.finditer(text):  # where a client has its answers
            topic = found["quoted"] or found["topic"]
            if not _TOPIC.match(found[0]) and not _DISCOVERY.fullmatch(topic):
                aliases.hide("TOPIC", [topic])


def _names_in(text: str) -> Iterator[str]:
    """The parts of a value that name something."""
    if "://" in text:
        try:
            parts = urlsplit(text)
            host = parts.hostname or ""
        except ValueError:
            yield text
            return
        yield from _hosts(host)
        if len(parts.path) > 1:
            yield parts.path
        if parts.query:
            yield parts.query
    elif text.startswith("/"):
        yield text
        yield PurePath(text).name
    elif (station := _STATION.match(text)) is not None:
        yield from _hosts(station["ipv6"] or station["ipv4"])
    elif (parted := re.fullmatch(r"\[?(.+?)\]?:[0-9]{1,5}", text)) is not None:
        yield from _hosts(parted[1])
    else:
        yield text


def _hosts(host: str) -> Iterator[str]:
    """A host, unless it is this one, or none."""
    try:
        address = ip_address(host)
    except ValueError:
        if host and host != "localhost":
            yield host
        return
    if not address.is_loopback and not address.is_unspecified:
        yield host


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The texts in a value, each with the path of its setting."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _texts(one, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one, path)
    elif value is not None and not isinstance(value, bool | int | float) and str(value):
        yield path, str(value)


def _without_texts(value: Any, path: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_texts(one, f"{path}.{key}".lstrip(".")) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_texts(one, path) for one in value]
    if value is None or isinstance(value, bool | int | float) or path in _SHOWN:
        return value
    return _SET if str(value) else ""
