"""Which of several bridges publishes as a hub: the dispute over its id, on each connection anew."""

from __future__ import annotations

import asyncio
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from wifimgrd.client.json_text import dumps, loads
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.mqtt._connection import BrokerError, Connection, any_of
from wifimgrd.mqtt._library import Received
from wifimgrd.mqtt._topics import Topics

CHALLENGE_S: Final = 10.0
"""How long another bridge with the same id has to publish its claim again."""
_CHALLENGE_OFFLINE_S: Final = 2.0
"""The same if its hub was offline: its connection was lost, or its daemon is not running."""
_REASSERT_S: Final = 1.0
"""The least time between two publications of a claim that others overwrite."""


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


class HubIdTaken(BrokerError):
    """Another running bridge publishes as the same hub."""


class HubIdClaim:
    """A bridge's claim to its hub's id, at the topic `claim`."""

    def __init__(self, topics: Topics, challenge_s: float = CHALLENGE_S) -> None:
        self._topics = topics
        self._challenge_s = challenge_s
        self._claim = Claim(secrets.token_hex(8))
        self._loop = asyncio.get_running_loop()
        self._connection: Connection | None = None
        self._found: Claim | None = None
        """The retained claim."""
        self._is_read = False
        """The broker's retained messages have been read."""
        self._is_held = False
        self.lost: asyncio.Future[None] = self._loop.create_future()
        """Done when another bridge publishes as this hub."""
        self._reasserted_s = 0.0
        self._reassertion: asyncio.TimerHandle | None = None

    def begin(self, connection: Connection) -> None:
        """Read the claims of a new connection."""
        self._connection = connection
        self._found, self._is_read, self._is_held = None, False, False
        self.lost = self._loop.create_future()

    async def challenge(self, *, was_online: bool) -> None:
        """Ask for another bridge that publishes as this hub, where there may be one; raises HubIdTaken.

        `was_online` is what the broker retained of the hub's availability.
        """
        self._is_read = True
        connection, found = self._connection, self._found
        if connection is not None and found is not None and found.instance != self._claim.instance:
            time_s = self._challenge_s if was_online else min(self._challenge_s, _CHALLENGE_OFFLINE_S)
            await connection.subscribe([self._topics.claim], qos=1, live_only=True)
            connection.publish(self._topics.claim, Claim(self._claim.instance, challenge=True).payload())
            with suppress(TimeoutError):
                await any_of(self.lost, connection.closed, timeout_s=time_s)
        self.require()

    def take(self) -> None:
        """Publish as this hub from now on; raises HubIdTaken if another bridge does.

        Claims must be subscribed to by now, so that of two that begin at once one receives the other's.
        """
        self.require()
        self._is_held = True
        self._publish()

    def release(self) -> None:
        """Remove the claim, so that the next run need not ask for this one."""
        self._is_held = False
        if self._connection is not None:
            self._connection.publish(self._topics.claim, b"", retain=True)

    def end(self) -> None:
        """The connection has ended."""
        self._connection, self._is_held = None, False
        if self._reassertion is not None:
            self._reassertion.cancel()
            self._reassertion = None

    def require(self) -> None:
        """Raises HubIdTaken if another bridge publishes as this hub."""
        if self.lost.done():
            raise HubIdTaken(
                f"another hub already publishes as {self._topics.root}, so this one publishes nothing. Set"
                " a different [mqtt] hub on one of them"
            )

    def receive(self, message: Received) -> None:
        """A message at the topic `claim`."""
        claim = parse_claim(message.payload)
        if claim is not None and claim.instance == self._claim.instance:
            return
        if not self._is_held:
            if message.retained and not self._is_read:
                self._found = claim
            elif message.retained and self._connection is not None and not self._connection.is_v5:
                pass  # of an earlier run: MQTT 3.1.1 sends it again with each subscription
            elif claim is not None and not claim.challenge:
                self._lose()
        elif claim is not None and not claim.challenge and self._claim.gives_way_to(claim):
            self._lose()
        else:
            self._reassert()

    def _lose(self) -> None:
        if not self.lost.done():
            self.lost.set_result(None)

    def _reassert(self) -> None:
        """Publish the claim again: at once, or when that may be done again."""
        if self._reassertion is None:
            due = max(self._loop.time(), self._reasserted_s + _REASSERT_S)
            self._reassertion = self._loop.call_at(due, self._publish_again)

    def _publish_again(self) -> None:
        self._reassertion = None
        self._reasserted_s = self._loop.time()
        self._publish()

    def _publish(self) -> None:
        if self._connection is not None and self._is_held:
            self._connection.publish(self._topics.claim, self._claim.payload(), retain=True)
