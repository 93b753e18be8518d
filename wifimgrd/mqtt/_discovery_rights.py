"""Whether the broker lets the hub publish discovery messages, for which it needs further rights.

With MQTT 5 a broker says in its acknowledgement that it refuses, which paho-mqtt reports since 2.0. In other
cases it drops the message. So the hub's own discovery message has to come back before the hub's `online`,
which is published after it: messages of one publisher arrive in order.
"""

from __future__ import annotations

from typing import Final

import structlog

LOSSES: Final = 3
"""Connections in a row that were lost before the broker had answered any discovery message."""

_log = structlog.get_logger("wifimgrd.mqtt")


class DiscoveryRights:
    """Follows the broker's answers, and logs once that it refuses. The rest goes on in any case."""

    def __init__(self) -> None:
        self._is_logged = False
        self._losses = 0
        self._awaits_echo = False
        """The hub's discovery message was published, and has not come back."""
        self._expects_echo = False
        """That was before the last `online`."""
        self.is_asking = False
        """A subscription to their topics is on its way."""

    @property
    def given_up(self) -> bool:
        """Nothing more is read or published: this broker closes the connection where it refuses (MQTT 3.1.1,
        3.3.5, allows that), and without this the bridge would never get beyond that."""
        return self._losses >= LOSSES

    def answered(self, *, refused: bool) -> None:
        """The broker has acknowledged a message, or a subscription; `refused`: this user may not do that."""
        self._losses = 0
        if refused:
            self._refuse()

    def begin(self) -> None:
        """A connection begins."""
        self._awaits_echo = self._expects_echo = self.is_asking = False

    def published(self) -> None:
        """The hub's discovery message is on its way."""
        self._awaits_echo = True

    def came_back(self) -> None:
        """The hub's discovery message was received."""
        self._awaits_echo = self._expects_echo = False

    def online_published(self) -> None:
        """The hub's `online` is on its way."""
        self._expects_echo = self._awaits_echo

    def online_came_back(self) -> None:
        """The hub's `online` was received."""
        if self._expects_echo:
            self._refuse()

    def lost(self, *, unanswered: bool) -> None:
        """The connection was lost; `unanswered`: before the broker had acknowledged all their messages."""
        self._losses = self._losses + 1 if unanswered or self.is_asking else 0
        if self.given_up:
            self._warn("the broker closes the connection instead of answering: they are left out")

    def _refuse(self) -> None:
        self._warn("the broker refuses them: may this user read and write their topics?")

    def _warn(self, reason: str) -> None:
        if not self._is_logged:
            self._is_logged = True
            _log.warning("discovery_refused", reason=f"discovery messages for Home Assistant: {reason}")
