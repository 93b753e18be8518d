"""When networkd is to request the lease of a link.

An access point drops what it receives before it has installed the key of a new station, some milliseconds
after the station, and networkd begins with DHCP as soon as there is a carrier. So the file of a link has no
DHCP until wpa_supplicant has reported the association.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from wifimgrd.backends.wpa_supplicant._inventory import WifiInterface

_SILENCE_S: Final = 1.5
"""Without any frame for so long, the request was probably lost: the camera's server was just starting.
networkd itself repeats it after 3 to 5 s, as RFC 2131, 4.1 has it."""


class LeaseRequest:
    """The request for the lease of one association.

    `due` is called when the request is to be sent: at the first `start`, and once more where nothing was
    received since. Each makes networkd begin anew, with another transaction id, so that it ignores replies to
    the one before. A server that is slow is left the whole attempt to reply to the last one, which networkd
    repeats by itself.
    """

    def __init__(self, interface: WifiInterface, due: Callable[[], None]) -> None:
        self._interface = interface
        self._due = due
        self.is_sent = False
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """The interface is associated."""
        if self._timer is None:
            received = self._interface.frames_received
            self._timer = asyncio.get_running_loop().call_later(_SILENCE_S, self._repeat, received)
            if not self.is_sent:
                self.is_sent = True
                self._due()

    def stop(self) -> None:
        """The lease is there, or the association is lost; networkd requests it by itself at the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _repeat(self, received: int | None) -> None:
        if self._interface.frames_received == received:
            self._due()
