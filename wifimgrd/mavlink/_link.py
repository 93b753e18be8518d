"""The UDP socket: to a router or a station, or for those who send valid frames to it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import structlog

from wifimgrd.config.web_address import MavlinkAddress
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._components import COMPONENTS
from wifimgrd.mavlink._signing import Signing

MOST_PEERS: Final = 4
"""Who sends to a listening socket is answered; so many at once."""
PEER_S: Final = 5.0
"""A peer that has sent no valid frame for so long is none any more, and another one takes its place. A
station sends one each second."""
PAUSE_S: Final = 0.02
"""What is sent meanwhile is read together, for at most `_READING_S`: a flood costs a tenth of a core."""
_READING_S: Final = 0.002

_log = structlog.get_logger("wifimgrd.mavlink")


class Link:
    """Sends frames of the cameras, and passes on those of others that are valid."""

    def __init__(
        self,
        address: MavlinkAddress,
        system: int,
        signing: Signing | None,
        receive: Callable[[wire.Frame], None],
    ) -> None:
        self._address = address
        self._system = system
        self._signing = signing
        self._receive = receive
        self._sequences: Counter[int] = Counter()
        """How many frames each component has sent: all receivers get the same, so that none misses one."""
        self._peers: dict[Any, float] = {}
        """Of a listening socket: until when each is answered."""
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Open the socket; raises OSError."""
        address = self._address
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        (self._socket.bind if address.is_listening else self._socket.connect)((address.host, address.port))
        self._watch()

    def close(self) -> None:
        """Close it, if it is open."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def send(self, component: int, message: wire.Message, values: wire.Values) -> None:
        """Send a message of a component to all receivers, of which there may be none."""
        flags, sequence = 0 if self._signing is None else wire.SIGNED, self._sequences[component]
        data = wire.frame(message, values, self._system, component, sequence, flags)
        self._sequences[component] += 1
        if self._signing is not None:
            data = self._signing.sign(data, time.time_ns() // 1000)
        now = asyncio.get_running_loop().time()
        peers = [one for one, until in self._peers.items() if until > now]
        for peer in peers if self._address.is_listening else (None,):
            try:
                if self._socket is not None:
                    self._socket.sendto(data, peer) if peer else self._socket.send(data)
            except BlockingIOError:
                pass
            except OSError as error:  # nobody listens there yet, or this host has no network
                _log.info("station_unreachable", reason=error.strerror)

    def _watch(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().add_reader(self._socket, self._read)

    def _read(self) -> None:
        """Read what is there, and pause."""
        loop, until_s = asyncio.get_running_loop(), time.monotonic() + _READING_S
        while self._socket is not None and time.monotonic() < until_s:
            try:
                self._take(*self._socket.recvfrom(wire.LARGEST_DATAGRAM))
            except BlockingIOError:
                break
            except OSError:  # about what was sent before: nobody listened
                continue
        if self._socket is not None:
            loop.remove_reader(self._socket)
        loop.call_later(PAUSE_S, self._watch)

    def _take(self, datagram: bytes, sender: Any) -> None:
        for one in wire.frames(datagram):
            if one.system == self._system and one.component in COMPONENTS:
                continue  # our own, sent back by a router
            if self._signing is not None and not self._signing.accepts(one, time.time_ns() // 1000):
                _log.warning(
                    "frame_refused", reason="no signature by the key, or an old one", address=sender[0]
                )
            elif not self._address.is_listening or self._is_peer(sender):
                self._receive(one)

    def _is_peer(self, sender: Any) -> bool:
        """Whether a sender is answered; who is a peer stays one while it sends."""
        now = asyncio.get_running_loop().time()
        self._peers = {one: until for one, until in self._peers.items() if until > now}
        if sender not in self._peers:
            if len(self._peers) >= MOST_PEERS:
                return False
            _log.info("station_appeared", address=sender[0], port=sender[1])
        self._peers[sender] = now + PEER_S
        return True
