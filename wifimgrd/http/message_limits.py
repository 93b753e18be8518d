"""How many messages of a WebSocket are held for their reader: older versions of aiohttp limit only the octets
of their content, so that those without content have no limit."""

from __future__ import annotations

from typing import Any, Final

HELD_MESSAGES: Final = 1024


class MessageLimit:
    """Of one connection: stops reading while too many messages are held, and keeps what is not parsed yet."""

    def __init__(self) -> None:
        self.queue: object = None
        """Where aiohttp puts messages; its list of them is private, but in every supported version."""
        self.rest = b""

    @property
    def is_reached(self) -> bool:
        """Whether too many are held."""
        held: Any = getattr(self.queue, "_buffer", ())
        return len(held) > HELD_MESSAGES
