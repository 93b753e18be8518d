"""Whether an access point silently rejects the passphrase, by the station's replies in a 4-way handshake.

One that cannot verify message 2, because the passphrase is wrong, ignores it: for some four seconds it
repeats message 1, as if the reply had been lost, and then ends the association. The acknowledgements of
802.11 tell the two apart: a reply that was acknowledged has arrived. One can still come too late for the
access point, or be lost in it; two, and a message 1 a while after both, are proof enough. No I/O here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from wifimgrd.kernel.nl80211 import HandshakeReply

_REJECTED: Final = 2
"""So many replies have arrived and were not accepted."""
_CONSIDERED_S: Final = 0.8
"""How long before the next message 1 each has arrived. hostapd repeats it after 0.1 s, then once a second; a
station that is late replies to several at once."""


@dataclass(slots=True)
class Replies:
    """The replies of one station to message 1."""

    are_reported: bool = False
    """The driver reports what becomes of them."""
    were_ignored: bool = False
    """One that has arrived was followed by another message 1, a while later."""
    arrived_s: list[float] = field(default_factory=list)
    """When the first ones that were acknowledged did: a camera may ask as often as it likes."""
    _counter: int = -1

    def add(self, reply: HandshakeReply, now_s: float) -> bool:
        """Process a reply that was sent; whether the access point has rejected those before it."""
        self.are_reported = True
        if reply.counter <= self._counter:  # with a new association it counts anew; or it is the same again
            self.arrived_s.clear()
        self._counter = reply.counter
        considered = [arrived_s for arrived_s in self.arrived_s if now_s - arrived_s >= _CONSIDERED_S]
        self.were_ignored = bool(considered)
        if reply.is_acknowledged and len(self.arrived_s) < _REJECTED:
            self.arrived_s.append(now_s)
        return len(considered) >= _REJECTED
