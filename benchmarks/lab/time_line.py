"""One time line of what several processes say to each other: D-Bus messages and netlink datagrams, as
`busctl capture` and `tcpdump` on an nlmon interface have written them.

https://datatracker.ietf.org/doc/html/draft-ietf-opsawg-pcapng and
https://www.tcpdump.org/linktypes/LINKTYPE_NETLINK.html; the numbers are those of the kernel's
include/uapi/linux.
"""

from __future__ import annotations

import io
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Final

from dbus_next._private.unmarshaller import Unmarshaller
from dbus_next.constants import MessageType
from dbus_next.message import Message
from dbus_next.signature import Variant

_FILE_HEADER: Final = 24
_RECORD: Final = struct.Struct("=IIII")
"""Of a pcap file: seconds, microseconds, length here, length."""
_NEXT_GENERATION: Final = b"\n\r\r\n"
"""How a pcapng file begins."""
_BLOCK: Final = struct.Struct("=II")
_PACKET_BLOCK: Final = 6
_PACKET: Final = struct.Struct("=IIIII")
"""Of such a block: the interface, the upper and lower half of the microseconds, length here, length."""
_COOKED: Final = struct.Struct(">14xH")
"""The netlink protocol."""
_HEADER: Final = struct.Struct("=IHHII")
_REQUEST: Final = 1
_ROUTE, _NFTABLES, _UEVENT, _GENERIC = 0, 12, 15, 16
_PROTOCOLS: Final = {_ROUTE: "route", 4: "diag", 9: "audit", _NFTABLES: "nft", _UEVENT: "uevent"}
_ANSWERS: Final = {2: "ack", 3: "end"}
_OF_ROUTE: Final = {16: "LINK", 20: "ADDR", 24: "ROUTE", 28: "NEIGH", 32: "RULE", 80: "NETCONF"}
"""By the number of RTM_NEW; RTM_DEL, RTM_GET and RTM_SET follow it."""
_VERBS: Final = ("NEW", "DEL", "GET", "SET")
_IN_NFTABLES: Final = 10
"""NFNL_SUBSYS_NFTABLES."""
_OF_NFTABLES: Final = (
    *(
        "NEWTABLE",
        "GETTABLE",
        "DELTABLE",
        "NEWCHAIN",
        "GETCHAIN",
        "DELCHAIN",
        "NEWRULE",
        "GETRULE",
        "DELRULE",
    ),
    *("NEWSET", "GETSET", "DELSET", "NEWSETELEM", "GETSETELEM", "DELSETELEM", "NEWGEN", "GETGEN", "TRACE"),
    *("NEWOBJ", "GETOBJ", "DELOBJ", "GETOBJ_RESET", "NEWFLOWTABLE", "GETFLOWTABLE", "DELFLOWTABLE"),
)
_BATCH: Final = {16: "batch", 17: "end"}
_OF_NL80211: Final = {
    1: "GET_WIPHY",
    2: "SET_WIPHY",
    5: "GET_INTERFACE",
    6: "SET_INTERFACE",
    9: "GET_KEY",
    10: "SET_KEY",
    11: "NEW_KEY",
    12: "DEL_KEY",
    16: "SET_BEACON",
    17: "GET_STATION",
    18: "SET_STATION",
    19: "NEW_STATION",
    20: "DEL_STATION",
    32: "GET_SCAN",
    33: "TRIGGER_SCAN",
    34: "NEW_SCAN_RESULTS",
    37: "AUTHENTICATE",
    38: "ASSOCIATE",
    39: "DEAUTHENTICATE",
    46: "CONNECT",
    48: "DISCONNECT",
    58: "REGISTER_FRAME",
    59: "FRAME",
    60: "FRAME_TX_STATUS",
    61: "SET_POWER_SAVE",
    62: "GET_POWER_SAVE",
    64: "NOTIFY_CQM",
    129: "CONTROL_PORT_FRAME",
}
KERNEL: Final = "kernel"
SHORT_LIVED: Final = "another socket"
"""One that was closed before the sockets were listed."""
_PAUSE_S: Final = 0.002
_LONGEST: Final = 72
_PROPERTIES_CHANGED: Final = "PropertiesChanged"
_SECRET: Final = ("psk", "password", "passphrase", "wep", "key")


class Kind(Enum):
    """What an event is."""

    CALL = auto()
    REPLY = auto()
    """Errors, too."""
    SIGNAL = auto()
    DATAGRAM = auto()
    """Of netlink."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that one process has sent to another, or to or from the kernel."""

    time_s: float
    sender: str
    receiver: str
    """Empty for a signal to all."""
    what: str
    kind: Kind
    since_s: float = 0.0
    """Of a reply: when the call was sent."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process has cost meanwhile."""

    process: str
    cpu_s: float
    wake_ups: float


@dataclass(frozen=True, slots=True)
class Names:
    """Who is who."""

    of_bus: Mapping[str, str]
    """Processes by their names on the message bus."""
    of_port: Mapping[int, str]
    """Processes by their netlink ports."""
    nl80211: int
    """The number of that family of generic netlink."""


def packets(pcap: bytes) -> Iterator[tuple[float, bytes]]:
    """Read the packets of a pcap or pcapng file, with their times; an incomplete last one is left out."""
    if pcap.startswith(_NEXT_GENERATION):
        yield from _packets_of_blocks(pcap)
        return
    offset = _FILE_HEADER
    while offset + _RECORD.size <= len(pcap):
        seconds, microseconds, length, _ = _RECORD.unpack_from(pcap, offset)
        offset += _RECORD.size
        if offset + length > len(pcap):
            return
        yield seconds + microseconds / 1e6, pcap[offset : offset + length]
        offset += length


def _packets_of_blocks(pcapng: bytes) -> Iterator[tuple[float, bytes]]:
    offset = 0
    while offset + _BLOCK.size <= len(pcapng):
        kind, size = _BLOCK.unpack_from(pcapng, offset)
        if size < _BLOCK.size or offset + size > len(pcapng):
            return
        if kind == _PACKET_BLOCK:
            _, upper, lower, length, _ = _PACKET.unpack_from(pcapng, offset + _BLOCK.size)
            begin = offset + _BLOCK.size + _PACKET.size
            yield (upper << 32 | lower) / 1e6, pcapng[begin : begin + length]
        offset += size


def of_bus(captured: Iterable[tuple[float, bytes]], names: Names) -> list[Event]:
    """Read messages of the bus; a reply says how long it took."""
    asked: dict[tuple[str, int], tuple[float, str]] = {}
    events = []
    for time_s, data in captured:
        message = Unmarshaller(io.BytesIO(data)).unmarshall()  # type: ignore[no-untyped-call]
        if message is None:
            continue
        sender, destination = message.sender or "", message.destination or ""
        ends = names.of_bus.get(sender, sender), names.of_bus.get(destination, destination)
        match message.message_type:
            case MessageType.METHOD_CALL:
                asked[sender, message.serial] = time_s, message.member
                events.append(Event(time_s, *ends, _called(message), Kind.CALL))
            case MessageType.SIGNAL:
                events.append(Event(time_s, *ends, _told(message), Kind.SIGNAL))
            case _:
                since, member = asked.get((destination, message.reply_serial), (time_s, "?"))
                word = "error" if message.message_type is MessageType.ERROR else "reply"
                what = f"{word} to {member} after {(time_s - since) * 1e3:.1f} ms"
                events.append(Event(time_s, *ends, what, Kind.REPLY, since))
    return events


def of_netlink(captured: Iterable[tuple[float, bytes]], names: Names) -> list[Event]:
    """Read netlink datagrams; one that goes to several listeners is one event. Whose a request was is said by
    the kernel's reply, too."""
    events: list[Event] = []
    asked: dict[tuple[int, int], int] = {}
    last = b""
    for time_s, data in captured:
        if data == last:
            continue
        last = data
        [protocol] = _COOKED.unpack_from(data)
        body = data[_COOKED.size :]
        what = _datagram(protocol, body, names)
        port = sequence = flags = 0
        if protocol != _UEVENT and len(body) >= _HEADER.size:
            _, _, flags, sequence, port = _HEADER.unpack_from(body)
        process = names.of_port.get(port, SHORT_LIVED if port else "")
        if flags & _REQUEST:
            asked[protocol, sequence] = len(events)
            events.append(Event(time_s, process, KERNEL, what, Kind.DATAGRAM))
            continue
        before = asked.pop((protocol, sequence), None) if port else None
        if before is not None and not events[before].sender:
            events[before] = replace(events[before], sender=process)
        events.append(Event(time_s, KERNEL, process, what, Kind.DATAGRAM))
    return events


def drawn(events: Iterable[Event], began_s: float, ended_s: float, tail_s: float = 0.05) -> str:
    """Draw the time line of one connect, and a moment after it, as text; what one process asks of the kernel
    without a pause is one line."""
    wanted = sorted((one for one in events if began_s <= one.time_s <= ended_s + tail_s), key=_time)
    groups: list[list[Event]] = []
    for one in wanted:
        if groups and _is_continued(groups[-1], one, ended_s):
            groups[-1].append(one)
        else:
            groups.append([one])
    width = max((len(_ends(group[0])) for group in groups), default=0)
    lines, before, is_over = [], began_s, False
    for group in groups:
        first = group[0]
        if first.time_s > ended_s and not is_over:
            is_over = True
            lines.append(f"------ the client has its reply, {(ended_s - began_s) * 1e3:.1f} ms")
        since, gap = (first.time_s - began_s) * 1e3, (first.time_s - before) * 1e3
        before = group[-1].time_s
        lines.append(f"{since:8.1f} {gap:+6.1f}  {_ends(first):{width}}  {_summary(group)}")
    return "\n".join(lines)


def _is_continued(group: Sequence[Event], event: Event, ended_s: float) -> bool:
    first, last = group[0], group[-1]
    return (
        KERNEL in (first.sender, first.receiver)
        and {first.sender, first.receiver} == {event.sender, event.receiver}
        and event.time_s - last.time_s < _PAUSE_S
        and not first.time_s <= ended_s < event.time_s
    )


def _summary(group: Sequence[Event]) -> str:
    """The requests, or what the kernel has told."""
    if len(group) == 1:
        return group[0].what
    told = [one for one in group if one.receiver == KERNEL] or group
    counted = Counter(one.what for one in told)
    listed = (f"{count} x {what}" if count > 1 else what for what, count in counted.items())
    took = (group[-1].time_s - group[0].time_s) * 1e3
    return f"{_short('; '.join(listed))} ({len(told)} in {took:.1f} ms)"


def costs_drawn(costs: Iterable[Cost]) -> str:
    """Draw what the processes have cost, the most expensive one first."""
    ranked = sorted(costs, key=lambda one: -one.cpu_s)
    lines = ["process           CPU ms  wake-ups"]
    lines += [
        f"{one.process:16} {one.cpu_s * 1e3:7.1f} {one.wake_ups:9.1f}"
        for one in ranked
        if one.cpu_s or one.wake_ups
    ]
    return "\n".join(lines)


def _time(event: Event) -> float:
    return event.time_s


def _ends(event: Event) -> str:
    return f"{event.sender} -> {event.receiver or 'all'}"


def _called(message: Message) -> str:
    values = [value for value in message.body if isinstance(value, str)][:2]
    is_property = message.interface == "org.freedesktop.DBus.Properties"
    named = [value.rpartition(".")[2] for value in values] if is_property else []
    return _short(" ".join([message.member, *named]))


def _told(message: Message) -> str:
    if message.member != _PROPERTIES_CHANGED or len(message.body) < 1:
        return _short(f"* {message.member}")
    values = next((value for value in message.body if isinstance(value, dict)), {})
    return _short("* " + ", ".join(f"{name}{_value(name, value)}" for name, value in values.items()))


def _value(name: str, value: Any) -> str:
    found = value.value if isinstance(value, Variant) else value
    if not isinstance(found, str | int | bool) or any(word in name.lower() for word in _SECRET):
        return ""
    return f"={found}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _datagram(protocol: int, data: bytes, names: Names) -> str:
    """What a datagram has."""
    if protocol == _UEVENT:
        return _short("uevent " + data.partition(b"\0")[0].decode(errors="replace"))
    kinds: Counter[str] = Counter()
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind, _, _, _ = _HEADER.unpack_from(data, offset)
        if length < _HEADER.size:
            break
        kinds[_kind(protocol, kind, data[offset + _HEADER.size :], names)] += 1
        offset += (length + 3) & ~3
    family = _PROTOCOLS.get(protocol, "" if protocol == _GENERIC else f"netlink {protocol}")
    listed = (f"{count} x {kind}" if count > 1 else kind for kind, count in kinds.items())
    return _short(f"{family} {', '.join(listed)}".strip())


def _kind(protocol: int, kind: int, body: bytes, names: Names) -> str:
    if kind in _ANSWERS:
        return _ANSWERS[kind]
    if protocol == _ROUTE and kind & ~3 in _OF_ROUTE:
        return _VERBS[kind & 3] + _OF_ROUTE[kind & ~3]
    if protocol == _NFTABLES:
        if kind in _BATCH:
            return _BATCH[kind]
        if kind >> 8 == _IN_NFTABLES and kind & 0xFF < len(_OF_NFTABLES):
            return _OF_NFTABLES[kind & 0xFF]
    if protocol == _GENERIC and body:
        if kind == names.nl80211:
            return f"nl80211 {_OF_NL80211.get(body[0], body[0])}"
        return f"genl {kind}/{body[0]}"
    return str(kind)
