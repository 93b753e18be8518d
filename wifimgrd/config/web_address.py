"""Parse addresses: IP addresses of peers and in names, listen addresses, allowed origins, brokers, and
of MAVLink."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_BROKER_PORTS: Final = {"mqtt": 1883, "mqtts": 8883}
_WEB_SOCKET: Final = re.compile(
    r"(wss?)://([A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)(?::([0-9]{1,5}))?(/[A-Za-z0-9._~/-]{0,255})?"
)


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """Where an MQTT broker listens."""

    host: str
    port: int
    tls: bool

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this host, by its name."""
        return _is_loopback(self.host)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class WebSocketAddress:
    """Where a broker has MQTT over WebSocket."""

    host: str
    port: int | None
    """None = that of the scheme."""
    path: str
    tls: bool

    @property
    def is_loopback(self) -> bool:
        """Whether it is on the host that the address is used on, by its name."""
        return _is_loopback(self.host)

    @property
    def origin(self) -> str:
        """The address without its path, as a Content-Security-Policy has it."""
        return f"{'wss' if self.tls else 'ws'}://{self.host}" + ("" if self.port is None else f":{self.port}")

    def __str__(self) -> str:
        return self.origin + self.path


@dataclass(frozen=True, slots=True)
class MavlinkAddress:
    """One end of a MAVLink connection over UDP."""

    host: str
    """An IP address."""
    port: int
    is_listening: bool
    """It is this host's own end; otherwise the other one."""

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this host are at the other end."""
        return _is_loopback(self.host)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'udpin' if self.is_listening else 'udpout'}:{host}:{self.port}"


def _is_loopback(host: str) -> bool:
    address = ip_address_of(host)
    return host == "localhost" if address is None else address.is_loopback


def ip_address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An IP address, without its zone, and as IPv4 where IPv6 only carries that; None for a name."""
    try:
        parsed = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


def page_address(scheme: str, host: str, port: int) -> str:
    """The address of the page at a host and a port."""
    return f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"


def origin_of(address: str) -> str | None:
    """Scheme, host and port of an address, normalised; None where it has none (as `null` has)."""
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError:
        return None
    scheme, name = parts.scheme.lower(), parts.hostname
    if not name or not scheme:
        return None
    name = f"[{name}]" if ":" in name else name
    return f"{scheme}://{name}" + ("" if port in (None, _DEFAULT_PORTS.get(scheme)) else f":{port}")


def plain_origin(text: str) -> str:
    """An origin and nothing more, normalised; raises ValueError."""
    origin = origin_of(text)
    if origin is None or text.rstrip("/").count("/") != 2:
        raise ValueError(f"{text!r} is not scheme://host[:port]")
    return origin


def listen_address(text: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, an IPv6 address in brackets; raises ValueError."""
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    plain = host[1:-1] if bracketed else host
    if not colon or not plain or (":" in plain and not bracketed):
        raise ValueError(f"{text!r} is not HOST:PORT, with an IPv6 address in brackets")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 65536):
        raise ValueError(f"{port!r} is not a port from 0 to 65535")
    return plain, int(port)


def broker_address(text: str) -> BrokerAddress:
    """Read `mqtts://HOST[:PORT]` or `mqtt://...`, without a user or a password in it; raises ValueError."""
    parts = urlsplit(text)
    port, host = parts.port, parts.hostname
    rest = (parts.path.rstrip("/"), parts.query, parts.fragment, parts.username, parts.password)
    if parts.scheme not in _BROKER_PORTS or not host or any(one is not None and one != "" for one in rest):
        raise ValueError(f"{text!r} is not mqtts://HOST[:PORT]")
    return BrokerAddress(host, port or _BROKER_PORTS[parts.scheme], parts.scheme == "mqtts")


def mavlink_address(text: str) -> MavlinkAddress:
    """Read `udpout:HOST:PORT` or `udpin:HOST:PORT`, the host as an IP address or `localhost`; raises
    ValueError."""
    kind, _, place = text.partition(":")
    host, port = listen_address(place)
    host = "127.0.0.1" if host == "localhost" else host
    if kind not in ("udpin", "udpout") or ip_address_of(host) is None or not port:
        raise ValueError(f"{text!r} is not udpout:HOST:PORT or udpin:HOST:PORT with an IP address")
    return MavlinkAddress(host, port, kind == "udpin")


def web_socket_address(text: str) -> WebSocketAddress:
    """Read `wss://HOST[:PORT][/PATH]` or `ws://...`; raises ValueError, also for what a
    Content-Security-Policy cannot name: IPv6 addresses, and names that are not ASCII."""
    found = _WEB_SOCKET.fullmatch(text)
    if found is None:
        raise ValueError("the address is not wss://HOST[:PORT][/PATH]")
    scheme, host, port, path = found.groups()
    if port is not None and not 0 < int(port) < 65536:
        raise ValueError(f"{port} is not a port from 1 to 65535")
    return WebSocketAddress(host.lower(), None if port is None else int(port), path or "/", scheme == "wss")
