"""A GoPro over HTTP, in either of its two languages: where it says which camera it is, and its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from wifimgrd.camera.drivers._http import HttpParser, get
from wifimgrd.camera.drivers._values import json_object, member, text
from wifimgrd.camera.drivers.gopro_state import GoPro, Status
from wifimgrd.camera.drivers.protocol import Conversation, NetworkDriver, Nonsense, Parser, Request

_OK: Final = 200
_NOT_FOUND: Final = 404


class HttpGoPro(GoPro, NetworkDriver):
    """Speaks with one GoPro over its network."""

    accepted = _OK
    code_name = "HTTP"
    identity_at: ClassVar[Sequence[str]]
    """Where it says which camera it is: the first of these that it has."""
    state_at: ClassVar[str]

    def parser(self) -> Parser:
        """For a new connection."""
        return HttpParser()

    def _get(self, target: str) -> Request:
        return get(self.host, target)

    def begin(self) -> Conversation[None]:
        """Read model, serial number and firmware."""
        for target in self.identity_at:
            answer = yield self._get(target)
            if answer.code != _NOT_FOUND:
                break
        found = json_object(answer.body) if answer.code == _OK else {}
        found = member(found, "info") or found  # version 1.0 has the members one level below
        self.facts.identify(
            text(found.get("model_name")),
            text(found.get("serial_number")),
            text(found.get("firmware_version")),
        )

    def read(self) -> Conversation[None]:
        """Read the whole state."""
        answer = yield self._get(self.state_at)
        if answer.code != _OK:
            raise Nonsense(f"the camera does not say its state (HTTP {answer.code})")
        told = member(json_object(answer.body), "status")
        self._take_mode(told)
        self._take({status: told.get(str(int(status))) for status in Status}, answer.moment_us)

    def _take_mode(self, told: Mapping[str, Any]) -> None:
        """Take a mode that is not a status of Open GoPro."""
