"""The kernel's Wi-Fi over generic netlink: the regulatory domain, an adapter's bands and its power save, what
interfaces are, the associations of stations with their counters, and what becomes of their messages in a
handshake.

https://www.kernel.org/doc/html/latest/networking/regulatory.html and, for the numbers,
include/uapi/linux/nl80211.h, genetlink.h and netlink.h of the kernel. Each function blocks until the kernel
has replied, which it does at once; a subscription gets what the kernel sends by itself.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from wifimgrd.domain.adapter import Band, Mode
from wifimgrd.domain.dead_links import Counters
from wifimgrd.kernel._messages import (
    ACKNOWLEDGE,
    DUMP,
    NUMBER,
    REQUEST,
    Message,
    answer_in,
    attribute,
    attributes,
    limit_wait,
    messages,
    number,
    request,
)
from wifimgrd.kernel.subscription import Subscription

_NETLINK_GENERIC: Final = 16
_GENERIC: Final = struct.Struct("=BBH")
"""struct genlmsghdr: command, version, reserved."""
_CONTROLLER: Final = 0x10
_GET_FAMILY: Final = 3
_FAMILY_ID: Final = 1
_FAMILY_NAME: Final = 2
_FAMILY_GROUPS: Final = 7
_GROUP_NAME: Final = 1
_GROUP_ID: Final = 2
_CONFIGURATION: Final = b"config\0"
"""The group of messages about interfaces that were made, changed or removed."""
_MANAGEMENT: Final = b"mlme\0"
"""The group of messages about associations."""
_GET_WIPHY: Final = 1
_GET_INTERFACE: Final = 5
_GET_STATION: Final = 17
_GET_REGULATORY_DOMAIN: Final = 31
_SET_POWER_SAVE: Final = 61
_GET_POWER_SAVE: Final = 62
_FRAME_STATUS: Final = 139
"""NL80211_CMD_CONTROL_PORT_FRAME_TX_STATUS: what became of a message of a handshake that was sent."""
_ATTR_IFINDEX: Final = 3
_ATTR_IFTYPE: Final = 5
_ATTR_MAC: Final = 6
_ATTR_STATION_INFO: Final = 21
_ATTR_WIPHY_BANDS: Final = 22
_ATTR_ALPHA2: Final = 33
_ATTR_FREQUENCY: Final = 38
_ATTR_FRAME: Final = 51
_ATTR_ACKNOWLEDGED: Final = 92
_ATTR_POWER_SAVE: Final = 93
_ATTR_SPLIT_WIPHY_DUMP: Final = 174
_INFO_SIGNAL: Final = 7
"""enum nl80211_sta_info: of the last frame, dBm, a signed byte."""
_INFO_TX_RATE: Final = 8
_INFO_RX_PACKETS: Final = 9
_INFO_RX_RATE: Final = 14
_INFO_CONNECTED: Final = 16
"""Seconds."""
_INFO_RX_BEACONS: Final = 29
"""64 bits; mac80211 leaves it out if the driver's firmware filters beacons."""
_RATE_16: Final = 1
_RATE_32: Final = 5
"""enum nl80211_rate_info: both in 100 kbit/s; the first one is missing if the rate does not fit in it."""
_BANDS: Final = {0: Band.GHZ_2_4, 1: Band.GHZ_5, 3: Band.GHZ_6}
"""enum nl80211_band; of 60 GHz there is none for cameras."""
_MODES: Final = {
    3: Mode.ACCESS_POINT,
    4: Mode.ACCESS_POINT,
    6: Mode.MONITOR,
    7: Mode.MESH,
    8: Mode.P2P,
    9: Mode.P2P,
}
"""enum nl80211_iftype; what is not here can be made a station by who uses it."""
_POWER_SAVE_OFF: Final = 0
"""enum nl80211_ps_state."""
_MAC_LENGTH: Final = 6
_EAPOL_KEY: Final = struct.Struct(">12xHBBHBH2xQ80xH")
"""Ethernet's header, EAPOL's (version, type, length), and of the key frame: descriptor type, key information,
replay counter, length of the key data (IEEE 802.11, 12.7.2)."""
_ETHERTYPE, _TYPE_KEY, _DESCRIPTOR_RSN = 0x888E, 3, 2
_PAIRWISE: Final = 0x0008
_WITH_MIC: Final = 0x0100
_BY_ACCESS_POINT: Final = 0x0080
_SECURE: Final = 0x0200
"""Key Ack and Secure: the first is in what an access point sends, the second in message 4."""
_HIGHEST_RATE: Final = 1_000_000
"""In 100 kbit/s: more than any 802.11 has is not a bit rate."""
_TIMEOUT_S: Final = 1
_LARGEST: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Association:
    """A station's association with an access point, as its driver describes it."""

    bssid: str
    """MAC address of the access point, lower case with colons."""
    frequency_mhz: int = 0
    """Centre frequency of the primary channel; 0 = not known, as the other two."""
    signal_dbm: int | None = None
    """None = not known."""
    tx_kbps: int = 0
    """The bit rate of what was sent last, kbit/s."""
    rx_kbps: int = 0
    """The same of what was received last."""


@dataclass(frozen=True, slots=True)
class HandshakeReply:
    """A station's message 2 of the 4-way handshake, which proves that it knows the passphrase, was sent."""

    counter: int
    """That of the message 1 which it replies to; the access point increases it with each."""
    is_acknowledged: bool
    """The access point's radio has received it."""


def regulatory_domain() -> str | None:
    """Two letters, `00` for the world domain; None where the kernel has no Wi-Fi or reports no domain."""
    with suppress(OSError, struct.error):
        for answer in _query(_GET_REGULATORY_DOMAIN, 0, b""):
            if domain := answer.get(_ATTR_ALPHA2):
                return domain.rstrip(b"\0").decode("ascii", "replace")
    return None


def bands_of(index: int) -> frozenset[Band]:
    """The bands of the adapter with this interface index; empty where they are not known."""
    wanted = _interface(index) + attribute(_ATTR_SPLIT_WIPHY_DUMP, b"")
    found = set()
    for _ in range(2):  # the description is cut short where another radio is removed during it
        with suppress(OSError, struct.error):
            for answer in _query(_GET_WIPHY, DUMP, wanted):
                found |= _BANDS.keys() & attributes(answer.get(_ATTR_WIPHY_BANDS, b"")).keys()
    return frozenset(_BANDS[number] for number in found)


def mode_of(index: int) -> Mode:
    """The mode of the interface with this index; a station if the mode is not known."""
    with suppress(OSError, struct.error):
        for answer in _query(_GET_INTERFACE, 0, _interface(index)):
            (kind,) = NUMBER.unpack(answer.get(_ATTR_IFTYPE, b""))
            return _MODES.get(kind, Mode.STATION)
    return Mode.STATION


def association_of(name: str) -> Association | None:
    """The association of the station interface `name`; None where there is none, or the driver does not
    describe it. Some drivers ask their firmware, and take milliseconds."""
    with suppress(OSError, struct.error), _connected() as netlink:
        interface = _interface(socket.if_nametoindex(name))
        (family,) = struct.unpack("=H", _family(netlink).get(_FAMILY_ID, b""))
        peers = _replies(netlink, family, _GET_STATION, DUMP, interface)
        [settings] = _replies(netlink, family, _GET_INTERFACE, 0, interface)
        return association_in(peers, settings)
    return None


def association_in(
    peers: Sequence[Mapping[int, bytes]], interface: Mapping[int, bytes]
) -> Association | None:
    """The association in what the kernel reports of the peers of an interface, of which a station has one,
    and of the interface itself."""
    for peer in peers:
        if len(bssid := peer.get(_ATTR_MAC, b"")) == _MAC_LENGTH:
            info = attributes(peer.get(_ATTR_STATION_INFO, b""))
            signal = info.get(_INFO_SIGNAL, b"")
            return Association(
                bssid.hex(":"),
                number(interface.get(_ATTR_FREQUENCY)),
                int.from_bytes(signal, signed=True) if len(signal) == 1 else None,
                _rate_kbps(info.get(_INFO_TX_RATE, b"")),
                _rate_kbps(info.get(_INFO_RX_RATE, b"")),
            )
    return None


def counters_of(name: str, at_s: float) -> Counters | None:
    """The counters of the association of the station interface `name` at the moment `at_s`; None if there is
    none. It takes as long as `association_of`."""
    with suppress(OSError, struct.error):
        return counters_in(list(_query(_GET_STATION, DUMP, _interface(socket.if_nametoindex(name)))), at_s)
    return None


def counters_in(peers: Sequence[Mapping[int, bytes]], at_s: float) -> Counters | None:
    """The same in the kernel's report of the peers of an interface."""
    for peer in peers:
        if len(peer.get(_ATTR_MAC, b"")) == _MAC_LENGTH:
            info = attributes(peer.get(_ATTR_STATION_INFO, b""))
            return Counters(
                at_s,
                connected_s=_counter(info.get(_INFO_CONNECTED), 4),
                beacons=_counter(info.get(_INFO_RX_BEACONS), 8),
                packets=_counter(info.get(_INFO_RX_PACKETS), 4),
            )
    return None


def _counter(value: bytes | None, size: int) -> int | None:
    return int.from_bytes(value, sys.byteorder) if value is not None and len(value) == size else None


def _rate_kbps(described: bytes) -> int:
    rate = attributes(described)
    for one in (_RATE_32, _RATE_16):
        if one in rate:
            found = int.from_bytes(rate[one], sys.byteorder)
            return found * 100 if found <= _HIGHEST_RATE else 0
    return 0


def watch_interfaces(on_change: Callable[[int], None], on_overrun: Callable[[], None]) -> Subscription | None:
    """Subscribe to changes of what interfaces are, each by its index; None where the kernel has no Wi-Fi yet.
    `on_overrun` is called when messages were lost."""

    def received(message: Message) -> None:
        index = attributes(message.body, _GENERIC.size).get(_ATTR_IFINDEX, b"")
        if len(index) == NUMBER.size:
            on_change(*NUMBER.unpack(index))

    return _subscribed(_CONFIGURATION, received, on_overrun)


def watch_handshake(name: str, on_reply: Callable[[HandshakeReply], None]) -> Subscription | None:
    """Subscribe to what becomes of the replies of the station interface `name` in 4-way handshakes; None
    where there is no such interface. Not all drivers report it."""
    with suppress(OSError):
        wanted = NUMBER.pack(socket.if_nametoindex(name))

        def received(message: Message) -> None:
            if message.body[:1] == bytes([_FRAME_STATUS]):
                found = attributes(message.body, _GENERIC.size)
                if found.get(_ATTR_IFINDEX) == wanted and (reply := handshake_reply_in(found)):
                    on_reply(reply)

        return _subscribed(_MANAGEMENT, received, lambda: None)
    return None


def handshake_reply_in(status: Mapping[int, bytes]) -> HandshakeReply | None:
    """The message 2 in the kernel's report of a message that was sent; None for any other."""
    frame = status.get(_ATTR_FRAME, b"")
    if len(frame) < _EAPOL_KEY.size:
        return None
    ethertype, _, kind, _, descriptor, information, counter, data_length = _EAPOL_KEY.unpack_from(frame)
    flags = information & (_PAIRWISE | _WITH_MIC | _BY_ACCESS_POINT | _SECURE)
    if (ethertype, kind, descriptor) != (_ETHERTYPE, _TYPE_KEY, _DESCRIPTOR_RSN):
        return None
    if flags != _PAIRWISE | _WITH_MIC or not data_length:
        return None
    return HandshakeReply(counter, _ATTR_ACKNOWLEDGED in status)


def _subscribed(
    name: bytes, received: Callable[[Message], None], on_overrun: Callable[[], None]
) -> Subscription | None:
    """A subscription to a group; None where the kernel does not have it."""
    with suppress(OSError, struct.error), _connected() as netlink:
        for group in attributes(_family(netlink).get(_FAMILY_GROUPS, b"")).values():
            found = attributes(group)
            if found.get(_GROUP_NAME) == name:
                (number,) = NUMBER.unpack(found.get(_GROUP_ID, b""))
                subscription = Subscription(_NETLINK_GENERIC, 0, received, on_overrun, joined=(number,))
                subscription.open()
                return subscription
    return None


def has_power_save(index: int) -> bool:
    """Whether power save is on for the interface with this index.

    Raises OSError where the kernel does not say: most often, the driver has none.
    """
    for answer in _query(_GET_POWER_SAVE, 0, _interface(index)):
        if len(state := answer.get(_ATTR_POWER_SAVE, b"")) == NUMBER.size:
            return NUMBER.unpack(state) != (_POWER_SAVE_OFF,)
    raise OSError("the kernel does not report power save")


def end_power_save(index: int) -> None:
    """Switch power save off for the interface with this index; raises OSError. Needs CAP_NET_ADMIN."""
    state = attribute(_ATTR_POWER_SAVE, _POWER_SAVE_OFF)
    for _ in _query(_SET_POWER_SAVE, ACKNOWLEDGE, _interface(index) + state):
        pass


def _interface(index: int) -> bytes:
    return attribute(_ATTR_IFINDEX, index)


def _query(command: int, flags: int, payload: bytes) -> Iterator[dict[int, bytes]]:
    """The attributes of each reply to a request of nl80211; raises OSError where it is refused."""
    with _connected() as netlink:
        (family,) = struct.unpack("=H", _family(netlink).get(_FAMILY_ID, b"\0\0"))
        yield from _replies(netlink, family, command, flags, payload)


@contextmanager
def _connected() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_GENERIC) as netlink:
        limit_wait(netlink, _TIMEOUT_S)
        yield netlink


def _family(netlink: socket.socket) -> dict[int, bytes]:
    """The kernel's description of nl80211; raises OSError if the kernel has no Wi-Fi."""
    [family] = _replies(netlink, _CONTROLLER, _GET_FAMILY, 0, attribute(_FAMILY_NAME, "nl80211"))
    return family


def _replies(
    netlink: socket.socket, family: int, command: int, flags: int, payload: bytes
) -> list[dict[int, bytes]]:
    netlink.send(request(family, REQUEST | flags, _GENERIC.pack(command, 1, 0) + payload))
    found: list[dict[int, bytes]] = []
    while True:
        for message in messages(netlink.recv(_LARGEST)):
            if (end := answer_in(message)) is not None:
                if end.code:
                    raise OSError(end.code, os.strerror(end.code))
                return found
            found.append(attributes(message.body, _GENERIC.size))
            if not flags & DUMP:
                return found
