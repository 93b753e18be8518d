"""The claim to a hub's id: which of two processes with the same id publishes. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wifimgrd.client.json_text import dumps, loads
from wifimgrd.domain.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Claim:
    """A message at the topic `claim`."""

    instance: str
    """Identifies one run of a bridge."""
    challenge: bool = False
    """A request to the bridge that holds the claim, if there is one, to publish it again."""

    def payload(self) -> bytes:
        """The message as JSON."""
        return dumps({"instance": self.instance, "challenge": self.challenge}).encode()

    def gives_way_to(self, other: Claim) -> bool:
        """Which of two claims that were made at the same time is given up: the greater one."""
        return other.instance < self.instance


def parse_claim(payload: bytes) -> Claim | None:
    """The claim in a message; None if it is none."""
    if len(payload) > 256:
        return None
    try:
        value = loads(payload, "the claim")
    except InvalidRequest:
        return None
    if not isinstance(value, dict):
        return None
    instance, challenge = value.get("instance"), value.get("challenge", False)
    if not isinstance(instance, str) or not re.fullmatch(r"[0-9a-f]{16}", instance):
        return None
    return Claim(instance, challenge) if isinstance(challenge, bool) else None
