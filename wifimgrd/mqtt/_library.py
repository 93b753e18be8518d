"""The one module that uses paho-mqtt, 1.6 or 2.x: a client, its packets, and what it reports.

paho's own thread is not used: see `_connection.py`.
"""

from __future__ import annotations

import errno
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from paho.mqtt import client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.mqtt import _refusals as refusals
from wifimgrd.mqtt._refusals import FAILURE

KEEP_ALIVE_S: Final = 30
LARGEST_PACKET: Final = 256 * 1024
"""Bytes that the broker may send in one packet; MQTT 3.1.1 cannot tell it that."""
LARGEST_READ: Final = 8 * 1024 * 1024
"""Bytes of a packet that is read, whatever the version; MQTT allows 256 MB, of which paho makes copies."""
LARGEST_ANSWER: Final = 8 * 1024
"""Bytes of any other packet than a message: paho takes minutes for one with 100,000 properties."""
MOST_UNANSWERED: Final = 100
"""Messages that the broker may send before the first of them is acknowledged; MQTT 3.1.1 cannot tell it."""
MOST_UNSENT: Final = 500
"""Packets that wait for a broker that does not read: those, and our own, which are fewer."""
_CONNACK: Final = 0x20
_PUBLISH: Final = 0x30
_FROM_BROKER: Final = frozenset({_CONNACK, _PUBLISH, 0x40, 0x90, 0xB0, 0xD0, 0xE0})
"""The types of messages, and of packets that answer ours. Others are for QoS 2, which nothing here has, or
are sent only by clients (MQTT 5, table 2-1)."""
_RETAIN: Final = 0x01
_QOS: Final = 0x06
_QOS_1: Final = 0x02
_DUP: Final = 0x08
_READ_AT_ONCE: Final = 64 * 1024
"""Bytes of one call to the kernel."""
_MESSAGE_EXPIRY_INTERVAL: Final = 2
_RESPONSE_TOPIC: Final = 8
_CORRELATION_DATA: Final = 9
_BYTES_OF: Final = {1: 1, _MESSAGE_EXPIRY_INTERVAL: 4, 35: 2}
"""By the id of a property of PUBLISH, its length (MQTT 5, 2.2.2.2 and 3.3.2.3)."""
_TEXTS_OF: Final = {3: 1, _RESPONSE_TOPIC: 1, _CORRELATION_DATA: 1, 38: 2}
"""By the id of another property, the number of its texts or byte strings, each with its own length."""
_SUBSCRIPTION_IDENTIFIER: Final = 11


@dataclass(frozen=True, slots=True)
class Received:
    """A message from the broker."""

    topic: str
    payload: bytes = field(repr=False)
    retained: bool
    is_repeat: bool
    """The flag DUP."""
    response_topic: str | None = None
    correlation: bytes | None = None
    expires_in_s: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """The parts that MQTT 5 adds to a message that is a request; none with 3.1.1."""

    response_topic: str | None = None
    correlation: bytes | None = None
    expires_in_s: int | None = None


_NOTHING: Final = Request()


class Misbehaviour(Exception):
    """The broker sends what it must not, or more than can be answered; a sentence."""


class Client(mqtt.Client):
    """paho's client, with the things that its callbacks leave out, or do only in some versions."""

    code = 0
    """The reason code of the last acknowledged message; always 0 with MQTT 3.1.1."""
    failure: OSError | None = None
    """The error that the socket has raised."""
    receive: Callable[[Received], None]
    """Is called with each message."""
    _is_accepted = False
    _read = b""
    """The bytes read from the socket, and the place in them up to which paho has them."""
    _place = 0

    @property
    def has_more(self) -> bool:
        """Whether more was read from the socket, or by TLS, than paho has."""
        if self._place < len(self._read):
            return True
        pending = getattr(self.socket(), "pending", None)
        return pending is not None and pending() > 0

    def set_keep_alive(self, seconds: int) -> None:
        """The broker's own interval counts (MQTT 5, 3.2.2.3.14), which paho leaves out."""
        self._keepalive = seconds

    def forget(self, packet_id: int) -> None:
        """This message's acknowledgement does not come: it counts as acknowledged."""
        if self._out_messages.pop(packet_id, None) is not None:
            self._inflight_messages -= 1

    def _packet_handle(self) -> Any:
        # paho takes part in all that MQTT has: it answers pings of a broker, keeps what has QoS 2 until the
        # broker releases it, publishes again with each CONNACK, and queues its answers without a limit.
        kind, flags = self._in_packet["command"] & 0xF0, self._in_packet["command"] & 0x0F
        if kind not in _FROM_BROKER:
            raise Misbehaviour(refusals.NOT_FROM_BROKER)
        if kind == _CONNACK:
            if self._is_accepted:
                raise Misbehaviour(refusals.ACCEPTED_TWICE)
            self._is_accepted = True
        if kind == _PUBLISH:
            if flags & _QOS > _QOS_1:
                raise Misbehaviour(refusals.QOS_2)
        elif len(self._in_packet["packet"]) > LARGEST_ANSWER:
            raise Misbehaviour(refusals.TOO_LARGE)
        done = super()._packet_handle()
        if len(self._out_packet) > MOST_UNSENT:
            raise Misbehaviour(refusals.DOES_NOT_READ)
        return done

    def _handle_publish(self) -> Any:
        # paho ends the connection at a text with U+FEFF, which MQTT allows (MQTT 5, 1.5.4), takes seconds for
        # 50,000 properties, and three times as long as this for a message without any.
        command, packet = self._in_packet["command"], bytes(self._in_packet["packet"])
        end = 2 + int.from_bytes(packet[:2])
        topic, packet_id = packet[2:end], None
        if command & _QOS:
            packet_id, end = int.from_bytes(packet[end : end + 2]), end + 2
        if end > len(packet):
            raise ValueError("the packet ends within its topic or id")
        request = _NOTHING
        if self._protocol == mqtt.MQTTv5:
            request, end = read_properties(packet, end)
        if (name := _text(topic)) is not None:
            self.receive(
                Received(
                    name,
                    packet[end:],
                    command & _RETAIN != 0,
                    command & _DUP != 0,
                    request.response_topic,
                    request.correlation,
                    request.expires_in_s,
                )
            )
        return mqtt.MQTT_ERR_SUCCESS if packet_id is None else self._send_puback(packet_id)

    def _handle_pubackcomp(self, cmd: Any) -> Any:
        packet = self._in_packet["packet"]
        self.code = packet[2] if len(packet) > 2 else 0
        if self.code >= FAILURE:
            # paho raises for codes that MQTT does not have here, such as Mosquitto's for message_size_limit.
            packet[2] = FAILURE
        return super()._handle_pubackcomp(cmd)

    def _sock_recv(self, bufsize: int) -> bytes:
        if bufsize > LARGEST_READ:  # paho asks for all that is missing of a packet
            self.failure = OSError(errno.EMSGSIZE, "the packet is too large")
            raise self.failure
        # paho wants one or two bytes at a time, each of which would be a call to the kernel.
        if self._place >= len(self._read):
            self._read, self._place = self._receive(max(bufsize, _READ_AT_ONCE)), 0
        start, self._place = self._place, self._place + bufsize
        return self._read[start : self._place]

    def _receive(self, size: int) -> bytes:
        try:
            return super()._sock_recv(size)
        except BlockingIOError:
            raise
        except OSError as error:
            self.failure = error
            raise

    def _sock_send(self, buf: Any) -> int:
        try:
            return super()._sock_send(buf)
        except BlockingIOError:
            raise
        except OSError:
            with suppress(OSError):
                self._receive(1)  # what the broker has sent before it closed the connection may say why
            raise


def new_client(client_id: str, *, is_v5: bool) -> Client:
    """A client that is not connected."""
    options: dict[str, Any] = {
        "client_id": client_id,
        "protocol": mqtt.MQTTv5 if is_v5 else mqtt.MQTTv311,
        "clean_session": None if is_v5 else True,
        "reconnect_on_failure": False,
    }
    versions = getattr(mqtt, "CallbackAPIVersion", None)
    if versions is not None:  # since 2.0
        options["callback_api_version"] = versions.VERSION2
    return Client(**options)


def connect_socket(
    client: Client, address: BrokerAddress, tls: ssl.SSLContext | None, *, is_v5: bool
) -> None:
    """Connect, and send the first packet; blocks. Raises OSError, and ValueError for a name that cannot be
    encoded."""
    if tls is not None:
        client.tls_set_context(tls)
    if not is_v5:
        client.connect(address.host, address.port, KEEP_ALIVE_S)
        return
    properties = _properties(PacketTypes.CONNECT)
    properties.MaximumPacketSize = LARGEST_PACKET
    properties.ReceiveMaximum = MOST_UNANSWERED
    client.connect(address.host, address.port, KEEP_ALIVE_S, clean_start=True, properties=properties)


def close_socket(client: Client) -> None:
    """Close the socket, if there is one, without a word to the broker."""
    opened: Any = client.socket()
    if opened is not None:
        opened.close()


def publish(
    client: Client, topic: str, payload: bytes, correlation: bytes | None, *, retain: bool, is_v5: bool
) -> int:
    """Publish with QoS 1, with MQTT 5 also the `correlation`; the packet's id."""
    properties = None
    if correlation is not None and is_v5:
        properties = _properties(PacketTypes.PUBLISH)
        properties.CorrelationData = correlation
    return client.publish(topic, payload, qos=1, retain=retain, properties=properties).mid


def subscribe(
    client: Client, filters: Sequence[str], *, qos: int, live_only: bool, is_v5: bool
) -> int | None:
    """Subscribe, with MQTT 5 and `live_only` as `Connection.subscribe` describes it; the packet's id, None
    if the connection is lost."""
    if not is_v5:
        return client.subscribe([(one, qos) for one in filters])[1]
    handling = SubscribeOptions.RETAIN_DO_NOT_SEND if live_only else SubscribeOptions.RETAIN_SEND_ON_SUBSCRIBE
    options = SubscribeOptions(qos=qos, retainAsPublished=live_only, retainHandling=handling)
    wanted: list[tuple[str, Any]] = [(one, options) for one in filters]
    return client.subscribe(wanted)[1]


def read_properties(packet: bytes, start: int) -> tuple[Request, int]:
    """Read the properties of a PUBLISH packet, which begin at the byte `start`, and where they end; raises
    ValueError."""
    if packet[start : start + 1] == b"\0":
        return _NOTHING, start + 1
    length, place = _read_number(packet, start)
    end = place + length
    topic: str | None = None
    correlation: bytes | None = None
    expires_in_s: int | None = None
    while place < end:
        kind, place = _read_number(packet, place)
        value = b""
        if kind == _SUBSCRIPTION_IDENTIFIER:
            _, place = _read_number(packet, place)
        elif kind in _BYTES_OF:
            value, place = packet[place : place + _BYTES_OF[kind]], place + _BYTES_OF[kind]
        elif kind in _TEXTS_OF:
            for _ in range(_TEXTS_OF[kind]):
                first = place + 2
                place = first + int.from_bytes(packet[place:first])
                value = packet[first:place]
        else:
            raise ValueError(f"PUBLISH has no property {kind}")
        if kind == _MESSAGE_EXPIRY_INTERVAL:
            expires_in_s = int.from_bytes(value)
        elif kind == _RESPONSE_TOPIC:
            topic = value.decode("utf-8", "replace")  # the broker should have refused what is not UTF-8
        elif kind == _CORRELATION_DATA:
            correlation = value
    if place != end or end > len(packet):
        raise ValueError("the properties have another length")
    return Request(topic, correlation, expires_in_s), end


def _read_number(packet: bytes, place: int) -> tuple[int, int]:
    """A Variable Byte Integer (MQTT 5, 1.5.5), and the place behind it; raises ValueError."""
    number = 0
    for shift, byte in zip((0, 7, 14, 21), packet[place : place + 4], strict=False):
        number |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return number, place
    raise ValueError("a number does not end")


def _text(data: bytes) -> str | None:
    """A text; None if it is not UTF-8, which the broker should have refused (MQTT 5, 1.5.4)."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def number(code: object) -> int:
    """The number of a reason code, which the versions pass in different types."""
    value = getattr(code, "value", code)
    return value if isinstance(value, int) else 0


def numbers(arguments: Sequence[object]) -> list[int]:
    """The numbers of the reason codes in lists among a callback's arguments."""
    return [number(one) for group in arguments if isinstance(group, list | tuple) for one in group]


def last_code(arguments: Sequence[object]) -> int:
    """The reason among the arguments of a lost connection's callback; 0 if there is none."""
    codes = [number(one) for one in arguments if not isinstance(one, Properties) and one is not None]
    return codes[-1] if codes else 0


def _properties(kind: int) -> Properties:
    return Properties(kind)  # type: ignore[no-untyped-call]
