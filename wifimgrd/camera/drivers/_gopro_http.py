"""A GoPro over HTTP, in either of its two languages: where it says which camera it is, its state and its
files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from wifimgrd.camera.drivers import _gopro_files as files
from wifimgrd.camera.drivers._http import HttpParser, get
from wifimgrd.camera.drivers._values import json_object, member, text
from wifimgrd.camera.drivers.gopro_state import GoPro, Status
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.camera.drivers.protocol import (
    Conversation,
    NetworkDriver,
    Nonsense,
    Parser,
    Request,
    unfinished,
)
from wifimgrd.domain.recordings import RecordedFile

_OK: Final = 200
_NOT_FOUND: Final = 404


class HttpGoPro(GoPro, NetworkDriver):
    """Speaks with one GoPro over its network."""

    accepted = _OK
    code_name = "HTTP"
    identity_at: ClassVar[Sequence[str]]
    """Where it says which camera it is: the first of these that it has."""
    state_at: ClassVar[str]
    media_list_at: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self._shift_us: int | None = None
        """The local time that its clock shows minus this host's clock, if the hub has set it."""

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

    # -- files

    def recorded_files(self, recording: PastRecording) -> Conversation[tuple[RecordedFile, ...] | None]:
        """Those of the media list that were created while it ran. None if the camera's clock is not known, or
        the list is too large."""
        if self._flag(Status.BUSY):
            raise unfinished()
        shift_us = yield from self._shift()
        if shift_us is None:
            return None
        return (yield from self._find_files(recording, shift_us))

    def _shift(self) -> Conversation[int | None]:
        """The local time that its clock shows minus this host's clock; None if that is not known."""
        yield from ()
        return self._shift_us

    def _find_files(
        self, recording: PastRecording, shift_us: int
    ) -> Conversation[tuple[RecordedFile, ...] | None]:
        answer = yield get(self.host, self.media_list_at, files.LIST_BYTES)
        if answer.code != _OK:
            return None
        return files.files_in(json_object(answer.body), recording, shift_us, answer.moment_us)
