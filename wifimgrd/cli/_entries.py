"""Cameras of a file, before they are registered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from wifimgrd.domain.device import CONNECTION_TYPE, Passphrase, Ssid
from wifimgrd.domain.device_values import LEFT_EMPTY, LONGEST_TEXT
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.registration import parse_registration

_LONGEST_SSID: Final = 32
_NOT_IN_FILE: Final = "the file has no password for it; if its network is open, say so in the column open"


def unsupported(security: str) -> str:
    """Why a network with this security is not registered."""
    return f"its security is {security}, which cameras do not have"


@dataclass(frozen=True, slots=True)
class Entry:
    """One camera of a file."""

    where: str
    """The file, and the line if it has several entries."""
    ssid: bytes = b""
    password: Passphrase | None = None
    """Empty for an open network; None if the file does not have it."""
    settings: dict[str, object] = field(default_factory=dict)
    """The other settings in the file, by the names of CreateDevice."""
    problem: str = ""
    """Why it cannot be registered."""
    is_told_by_name: bool = False
    """Several of one network are different cameras if their names differ."""

    @property
    def title(self) -> str:
        """The camera's name, or else its network."""
        return str(self.settings.get("name") or self.network)[:LONGEST_TEXT]

    @property
    def network(self) -> str:
        """Its network, as text; of what is too long for one the beginning, since it may be anything."""
        return Ssid(self.ssid[:_LONGEST_SSID]).printable if self.ssid else ""

    def with_password(self, password: Passphrase) -> Entry:
        """The same with its password."""
        return replace(self, password=password)

    def with_problem(self, problem: str) -> Entry:
        """The same, which cannot be registered."""
        return replace(self, problem=problem)

    def request(self, codename: str) -> Mapping[str, object]:
        """The request that registers it; `codename` is its model if the file names none."""
        return {
            "codename": codename,
            "connection_type": CONNECTION_TYPE,
            "ssid": self.ssid,
            "password": "" if self.password is None else self.password.reveal(),
            **self.settings,
        }

    def checked(self) -> Entry:
        """The same, with its problem if the hub would refuse it."""
        if self.problem:
            return self
        if self.password is None:
            return self.with_problem(_NOT_IN_FILE)
        try:
            parse_registration(self.request("any"))
        except InvalidRequest as error:
            # In a file, it takes more than an empty password to make a network open.
            return self.with_problem(error.message.replace(LEFT_EMPTY, ""))
        return self
