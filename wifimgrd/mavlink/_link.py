"""The UDP socket: to a router or a station, or for those who send valid frames to it."""

from __future__ import annotations

import asyncio
import math
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import structlog

from wifimgrd.config.configuration import Mavlink
from wifimgrd.config.web_address import mavlink_address
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._cameras import COMPONENTS

MOST_PEERS: Final = 4
"""How many senders to a listening socket are answered: those that have sent for the longest time without a
pause."""
PEER_S: Final = 5.0
"""Who has sent no valid frame for so long is no longer answered. A station sends one each second."""
_MOST_HEARD: Final = 64
PAUSE_S: Final = 0.02
"""The datagrams of that time are read together, for at most `_READING_S`: a flood costs a tenth of a core."""
_READING_S: Final = 0.002
_CLOSED: Final = -1
"""The descriptor of a closed socket."""

_log = structlog.get_logger("wifimgrd.mavlink")


Receive = Callable[[wire.Frame], None]


class Link:
    """Sends frames of the cameras, and passes on those of others that are valid."""

    def __init__(self, settings: Mavlink, signing: wire.Signing | None, receive: Receive) -> None:
        self._address = address = mavlink_address(settings.connection)
        self._system = settings.system
        self._signing = signing
        self._receive = receive
        self._sequences: Counter[int] = Counter()
        """How many frames each component has sent: all receivers get the same, so that none misses one."""
        self._heard = {} if address.is_listening else {(address.host, address.port): math.inf}
        """When each receiver was heard last, in the order in which they began."""
        self._socket: socket.socket | None = None

    async def serve(self) -> None:
        """Open the socket, and read; raises OSError if it cannot be opened."""
        place = self._address.host, self._address.port
        family = socket.AF_INET6 if ":" in self._address.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as self._socket:
            (self._socket.bind if self._address.is_listening else self._socket.connect)(place)
            while True:
                until_s = time.monotonic() + _READING_S
                while time.monotonic() < until_s:
                    await self._read(self._socket)
                await asyncio.sleep(PAUSE_S)

    def send(self, component: int, message: wire.Message, values: wire.Values) -> None:
        """Send a message of a component to all receivers, of which there may be none."""
        flags, sequence = 0 if self._signing is None else wire.SIGNED, self._sequences[component]
        data = wire.frame(message, values, self._system, component, sequence, flags)
        self._sequences[component] += 1
        if self._signing is not None:
            data = self._signing.sign(data, time.time_ns() // 1000)
        for receiver in self._receivers():
            try:
                if self._socket is not None and self._socket.fileno() != _CLOSED:
                    self._socket.sendto(data, receiver)
            except OSError as error:  # nobody listens there yet, or this host has no network
                _log.info("station_unreachable", reason=error.strerror)

    @property
    def has_receiver(self) -> bool:
        """Whether there is somebody to send to, as far as that can be known."""
        return bool(self._receivers())

    async def _read(self, opened: socket.socket) -> None:
        """Read a datagram, and pass on what is valid in it."""
        try:
            datagram, sender = await asyncio.get_running_loop().sock_recvfrom(opened, wire.LARGEST_DATAGRAM)
        except OSError as error:  # about what was sent before: nobody listened
            _log.info("station_unreachable", reason=error.strerror)
            return
        for one in wire.frames(datagram):
            if one.system == self._system and one.component in COMPONENTS:
                continue  # our own, sent back by a router
            if self._signing is not None and not self._signing.accepts(one, time.time_ns() // 1000):
                reason = "no signature by the key, or an old one"
                _log.warning("frame_refused", reason=reason, address=sender[0])
            elif not self._address.is_listening or self._is_receiver(sender):
                self._receive(one)

    def _is_receiver(self, sender: tuple[str, int]) -> bool:
        """Whether a sender is answered, who has just been heard."""
        before = self._receivers()
        if sender in self._heard or len(self._heard) < _MOST_HEARD:
            self._heard[sender] = asyncio.get_running_loop().time()
        is_receiver = sender in self._receivers()
        if is_receiver and sender not in before:
            _log.info("station_appeared", address=sender[0], port=sender[1])
        return is_receiver

    def _receivers(self) -> list[tuple[str, int]]:
        since_s = asyncio.get_running_loop().time() - PEER_S
        self._heard = {one: heard_s for one, heard_s in self._heard.items() if heard_s > since_s}
        return list(self._heard)[:MOST_PEERS]
