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
"""How many senders to a listening socket are answered: those that have sent for the longest time without a
pause."""
PEER_S: Final = 5.0
"""Who has sent no valid frame for so long is no longer answered. A station sends one each second."""
_MOST_HEARD: Final = 64
PAUSE_S: Final = 0.02
"""The datagrams of that time are read together, for at most `_READING_S`: a flood costs a tenth of a core."""
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
        self._heard: dict[Any, float] = {}
        """Of a listening socket: when each sender was heard last, in the order in which they began."""
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
        for peer in self._peers() if self._address.is_listening else (None,):
            try:
                if self._socket is not None:
                    self._socket.sendto(data, peer) if peer else self._socket.send(data)
            except BlockingIOError:
                pass
            except OSError as error:  # nobody listens there yet, or this host has no network
                _log.info("station_unreachable", reason=error.strerror)

    @property
    def has_receiver(self) -> bool:
        """Whether there is somebody to send to, as far as that can be known."""
        return not self._address.is_listening or bool(self._peers())

    def _watch(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().add_reader(self._socket, self._read)

    def _read(self) -> None:
        """Read what is there, and pause."""
        loop, until_s = asyncio.get_running_loop(), time.monotonic() + _READING_S
        while self._socket is not None:
            try:
                self._take(*self._socket.recvfrom(wire.LARGEST_DATAGRAM))
            except BlockingIOError:
                break
            except OSError as error:  # about what was sent before: nobody listened
                _log.info("station_unreachable", reason=error.strerror)
            if time.monotonic() > until_s:
                break
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
        """Whether a sender is answered, who has just been heard."""
        before = self._peers()
        if sender not in self._heard and len(self._heard) >= _MOST_HEARD:
            del self._heard[min(self._heard.keys() - set(before), key=self._heard.__getitem__)]
        self._heard[sender] = asyncio.get_running_loop().time()
        is_peer = sender in self._peers()
        if is_peer and sender not in before:
            _log.info("station_appeared", address=sender[0], port=sender[1])
        return is_peer

    def _peers(self) -> list[Any]:
        since_s = asyncio.get_running_loop().time() - PEER_S
        self._heard = {one: heard_s for one, heard_s in self._heard.items() if heard_s > since_s}
        return list(self._heard)[:MOST_PEERS]
