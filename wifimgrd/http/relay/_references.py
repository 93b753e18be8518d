"""The targets of the references in a camera's answer, resolved as a browser does it
(https://url.spec.whatwg.org/): those that are not below the camera's own prefix are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from wifimgrd.domain.camera_model import HTTP_PORT

_BLANK: Final = "".join(map(chr, range(0x21)))
"""C0 controls and the space: browsers remove them at both ends."""
_REMOVED: Final = {ord(char): None for char in "\t\n\r"}
_HERE: Final = frozenset({".", "%2e"})
_UP: Final = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})
_SCHEME: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+-.")


@dataclass(frozen=True, slots=True)
class CameraPage:
    """The address of a request to a camera, as the client has it."""

    camera: str
    """The camera's own address, as its references may contain it."""
    prefix: str
    """`/cameras/ID`, or `/cameras/ID:PORT`."""
    path: str
    """The whole path of the request, which begins with the prefix."""
    secure: bool = False
    """The request came over TLS."""
    port: int = HTTP_PORT
    """The camera's, of which its references are."""

    def location(self, reference: str) -> str | None:
        """A reference for the client; None if its target is elsewhere. A relative one stays relative."""
        place = self.resolved(reference)
        plain = reference.replace("/", "").isascii() and "\\" not in reference
        is_relative = (
            not reference.startswith("/") and ":" not in reference and not set(reference) & set(_BLANK)
        )
        if place is not None and plain and is_relative and "".join(_walked(self.path)) == self.path:
            return reference
        return place

    def resolved(self, reference: str) -> str | None:
        """The path, query and fragment of a reference's target; None if that is not the camera."""
        text = reference.strip(_BLANK).translate(_REMOVED)
        if not all(" " <= char != "\x7f" for char in text):
            return None
        text, hash_sign, fragment = text.partition("#")
        text, question_mark, query = text.partition("?")
        path = self._path(text.replace("\\", "/"))
        if path is None:
            return None
        path = "".join(_walked(path))
        if not path.startswith(f"{self.prefix}/"):
            return None
        return f"{path}{question_mark}{query}{hash_sign}{fragment}".replace(" ", "%20")

    def links(self, value: str) -> str:
        """A `Link` field with the links whose targets are the camera's; empty if there are none."""
        kept = []
        for target, parameters in _links(value):
            place = self.resolved(target)
            if place is not None and not set(place) & set('<>"'):
                kept.append(f"<{place}>{parameters}")
        return ", ".join(kept)

    def _path(self, text: str) -> str | None:
        """The path before its dot segments are removed; None if it belongs to another host."""
        first = text.partition("/")[0]
        scheme, colon, _ = first.partition(":")
        if colon and scheme[:1].isalpha() and set(scheme.lower()) <= _SCHEME:
            text = text[len(scheme) + 1 :]
            if scheme.lower() != "http" or not text.startswith("//"):
                return None
        if text.startswith("//"):
            host, slash, path = text.lstrip("/").partition("/")
            if host.lower() not in self._authorities:
                return None
            return f"{self.prefix}/{path}" if slash else f"{self.prefix}/"
        if text.startswith("/"):
            return self.prefix + text
        if not text:
            return self.path
        return self.path[: self.path.rindex("/") + 1] + text

    @property
    def _authorities(self) -> tuple[str, ...]:
        host = f"[{self.camera}]" if ":" in self.camera else self.camera
        named = f"{host}:{self.port}"
        return (host, f"{host}:", named) if self.port == HTTP_PORT else (named,)

    @property
    def authority(self) -> str:
        """The camera's address as the camera has it: in what it is asked for."""
        return self._authorities[0]


def _walked(path: str) -> Iterator[str]:
    """The segments of a path without dot segments."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for number, segment in enumerate(segments):
        lower = segment.lower()
        is_last = number == len(segments) - 1
        if lower in _UP:
            if kept:
                kept.pop()
            if is_last:
                kept.append("")
        elif lower not in _HERE:
            kept.append(segment)
        elif is_last:
            kept.append("")
    for segment in kept:
        yield "/"
        yield segment


def _links(value: str) -> Iterator[tuple[str, str]]:
    """Targets and parameters of a `Link` field, up to the first that is not a link."""
    at = 0
    while at < len(value):
        while at < len(value) and value[at] in " \t,":
            at += 1
        end = value.find(">", at)
        if value[at : at + 1] != "<" or end < 0:
            return
        target = value[at + 1 : end]
        at = _end_of_link(value, end + 1)
        parameters = value[end + 1 : at].strip()
        if parameters.count('"') % 2 or "<" in parameters or "\\" in parameters:
            return
        yield target, parameters


def _end_of_link(value: str, at: int) -> int:
    """The position of the comma behind a link, or the end."""
    is_quoted = False
    while at < len(value) and (is_quoted or value[at] != ","):
        is_quoted ^= value[at] == '"'
        at += 1
    return at
