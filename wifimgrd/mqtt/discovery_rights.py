"""Whether the broker lets the hub publish discovery messages, for which it needs further rights."""

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

    @property
    def given_up(self) -> bool:
        """Nothing more is read or published: this broker closes the connection where it refuses (MQTT 3.1.1,
        3.3.5, allows that), and without this the bridge would never get beyond that."""
        return self._losses >= LOSSES

    def answered(self, accepted: bool) -> None:
        """The broker has acknowledged a message, or a subscription."""
        self._losses = 0
        if not accepted:
            self._warn("the broker refuses them: may this user read and write their topics?")

    def lost(self, *, unanswered: bool) -> None:
        """The connection was lost; `unanswered`: before the broker had answered."""
        self._losses = self._losses + 1 if unanswered else 0
        if self.given_up:
            self._warn("the broker closes the connection instead of answering: they are left out")

    def _warn(self, reason: str) -> None:
        if not self._is_logged:
            self._is_logged = True
            _log.warning("discovery_refused", reason=f"discovery messages for Home Assistant: {reason}")
