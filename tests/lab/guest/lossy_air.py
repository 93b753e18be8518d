"""A medium that loses frames, or only messages of handshakes: mac80211_hwsim has this process pass on each.

include/linux/mac80211_hwsim.h of the kernel's drivers/net/wireless/virtual has the numbers. The kernel leaves
out receivers that are on another channel.
"""

import asyncio
import random
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from wifimgrd.kernel._messages import REQUEST, attributes, messages
from wifimgrd.kernel._messages import request as message_of

from .hwsim import attribute, family_of_hwsim, generic_netlink, request

_GENERIC: Final = struct.Struct("=BBH")
_REGISTER, _FRAME, _STATUS = 1, 2, 3
_RECEIVER, _TRANSMITTER, _DATA, _FLAGS, _RATE, _SIGNAL, _TRIES, _COOKIE, _FREQUENCY = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    19,
)
_NUMBER: Final = struct.Struct("=I")
_NONE: Final = _NUMBER.pack(0)
_ACKNOWLEDGED: Final = 1 << 2
_SIGNAL_DBM: Final = struct.pack("=i", -50)
_KIND: Final = 0x4C
_DATA_FRAME: Final = 0x08
"""Of the first byte of a frame; those without data, such as the ones that announce power save, are another
kind."""
_EAPOL: Final = bytes.fromhex("aaaa03000000888e")
_SO_RCVBUFFORCE: Final = 33
_LARGEST: Final = 1 << 16
_BUFFER: Final = 1 << 22


class LossyAir:
    """The medium between all radios of the guest. It knows a radio from its first frame on."""

    def __init__(
        self, chance: random.Random, lost: float, unacknowledged: float, *, all_data: bool = False
    ) -> None:
        """Which share of the messages of a handshake is lost, or of `all_data` frames to one station, and of
        which only the acknowledgement is."""
        self.lost = 0
        """How many were lost."""
        self._all_data = all_data
        self._chance = chance
        self._share_lost, self._share_unacknowledged = lost, unacknowledged
        self.netlink = generic_netlink()
        self.netlink.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        self._family = family_of_hwsim(self.netlink)
        request(self.netlink, self._family, _REGISTER, b"")
        self.netlink.setblocking(False)
        self._radios: dict[bytes, bytes] = {}
        """By the address of an interface."""

    def close(self) -> None:
        """The radios hear each other again, as without this."""
        self.netlink.close()

    def readable(self) -> None:
        """Pass on what was sent."""
        try:
            while True:
                for message in messages(self.netlink.recv(_LARGEST)):
                    if message.kind == self._family and message.body[:1] == bytes([_FRAME]):
                        self._pass_on(attributes(message.body, _GENERIC.size))
        except BlockingIOError:
            return

    def _pass_on(self, sent: Mapping[int, bytes]) -> None:
        frame, radio = sent[_DATA], sent[_TRANSMITTER]
        self._radios[frame[10:16]] = radio
        to = frame[4:10]
        is_unicast = not to[0] & 1
        is_data = is_unicast and frame[0] & _KIND == _DATA_FRAME
        loses = is_data and (self._all_data or _EAPOL in frame[24:34])
        is_lost = loses and self._chance.random() < self._share_lost
        self.lost += is_lost
        if not is_lost:
            for receiver in {*self._radios.values()} - {radio}:
                passed = attribute(_RECEIVER, receiver) + attribute(_DATA, frame) + attribute(_RATE, _NONE)
                passed += attribute(_SIGNAL, _SIGNAL_DBM) + attribute(_FREQUENCY, sent[_FREQUENCY])
                self._send(_FRAME, passed)
        is_heard = is_unicast and self._radios.get(to, radio) != radio and not is_lost
        if is_heard and loses and self._chance.random() < self._share_unacknowledged:
            is_heard = False
        (flags,) = _NUMBER.unpack(sent[_FLAGS])
        status = attribute(_TRANSMITTER, radio) + attribute(
            _FLAGS, _NUMBER.pack(flags | _ACKNOWLEDGED * is_heard)
        )
        status += attribute(_COOKIE, sent[_COOKIE]) + attribute(_SIGNAL, _SIGNAL_DBM)
        self._send(_STATUS, status + attribute(_TRIES, sent[_TRIES]))

    def _send(self, command: int, payload: bytes) -> None:
        self.netlink.send(message_of(self._family, REQUEST, _GENERIC.pack(command, 1, 0) + payload))


@contextmanager
def lossy_air(
    chance: random.Random, lost: float, unacknowledged: float, *, all_data: bool = False
) -> Iterator[LossyAir]:
    """The medium, in the running event loop."""
    air = LossyAir(chance, lost, unacknowledged, all_data=all_data)
    loop = asyncio.get_running_loop()
    loop.add_reader(air.netlink, air.readable)
    try:
        yield air
    finally:
        loop.remove_reader(air.netlink)
        air.close()
