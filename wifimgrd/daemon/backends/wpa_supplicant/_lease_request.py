"""When networkd is to request the lease of a link from the beginning.

networkd sends its first DHCP message as soon as the interface has a carrier. That message is often lost: an
access point drops what it receives before it has installed the key of a new station, some milliseconds after
the station. networkd repeats it only after 3 to 5 s, as RFC 2131, 4.1 has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from wifimgrd.daemon.backends.wpa_supplicant._inventory import WifiInterface

_KEY_S: Final = 0.012
"""Without any frame for so long after the association, the first message was probably lost. The access point
has mostly installed the key by the time that the next one is sent, some milliseconds later."""
_OFFER_S: Final = 0.15
"""A lease is mostly there so long after the association. Otherwise the access point has taken longer, or what
was received was not the server's, or a refusal of the last address, after which networkd waits a second."""
_SILENCE_S: Final = 1.5
"""Without any frame for so long after the request, that was probably lost, too: the camera's server was just
starting."""


class LeaseRequest:
    """The requests for the lease of a link, at one association after another.

    `due` is called when networkd is to begin anew: at once if no frame is received, then once if there is no
    lease, and once more if no frame was received since. networkd uses another transaction id each time, so
    that it ignores replies to the requests before. Then a slow server is left the rest of the attempt to
    reply to the last one, which networkd repeats by itself.
    """

    def __init__(self, interface: WifiInterface, due: Callable[[], None]) -> None:
        self._interface = interface
        self._due = due
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """The interface is associated; nothing happens if that was known."""
        if self._timer is None:
            self._wait(_KEY_S, self._check_first, self._interface.frames_received)

    def stop(self) -> None:
        """The lease is there, or the association is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_first(self, received: int | None) -> None:
        self._wait(_OFFER_S - _KEY_S, self._request)
        if self._interface.frames_received == received:
            self._due()

    def _request(self) -> None:
        self._wait(_SILENCE_S, self._check_request, self._interface.frames_received)
        self._due()

    def _check_request(self, received: int | None) -> None:
        if self._interface.frames_received == received:
            self._due()

    def _wait(self, pause_s: float, then: Callable[..., None], *known: int | None) -> None:
        self._timer = asyncio.get_running_loop().call_later(pause_s, then, *known)
