"""What the shim is told: made of the configuration once, checked, and complete."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wifimgrd.config import Config, ConfigError, TileSource
from wifimgrd.http.request_safety import LOOPBACK_NAMES, host_name, origin_of

_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not bound


@dataclass(frozen=True, slots=True)
class Settings:
    """All that the shim needs to know."""

    platform: str = "platform"
    listen_host: str = "127.0.0.1"
    listen_port: int = 8080
    hosts: frozenset[str] = LOOPBACK_NAMES
    """Names that a Host header may carry, as `host_name` writes them."""
    origins: frozenset[str] = frozenset()
    """Other sites that are admitted, as `origin_of` writes them."""
    token: str | None = field(default=None, repr=False)
    tile_sources: tuple[TileSource, ...] = ()

    @classmethod
    def of(cls, config: Config, listen: str | None = None) -> Settings:
        """Read the configuration; `listen` takes the place of its own."""
        host, port = listen_address(listen or config.http.listen)
        origins = set()
        for said in config.http.allowed_origins:
            origin = origin_of(said)
            if origin is None or said.rstrip("/").count("/") != 2:
                raise ConfigError(f"[http] allowed_origins: {said!r} is not scheme://host[:port]")
            origins.add(origin)
        token_file = config.http.token_file
        return cls(
            platform=config.platform.name,
            listen_host=host,
            listen_port=port,
            hosts=allowed_hosts(socket.gethostname(), host, config.http.allowed_hosts),
            origins=frozenset(origins),
            token=None if token_file is None else read_token(token_file),
            tile_sources=config.tiles.source,
        )


def listen_address(text: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`, an IPv6 address in brackets; raises ConfigError."""
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    plain = host[1:-1] if bracketed else host
    if not colon or not plain or (":" in plain and not bracketed):
        raise ConfigError(f"[http] listen: {text!r} is not HOST:PORT, with an IPv6 address in brackets")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 65536):
        raise ConfigError(f"[http] listen: {port!r} is not a port from 0 to 65535")
    return plain, int(port)


def allowed_hosts(own_name: str, listen_host: str, more: tuple[str, ...]) -> frozenset[str]:
    """The names that a Host header may carry, the address of the connection aside."""
    first = own_name.partition(".")[0]
    names = {own_name, first, f"{first}.local", *more}
    if listen_host not in _EVERYWHERE:
        names.add(listen_host)
    return LOOPBACK_NAMES | frozenset(host_name(name) for name in names if name)


def read_token(file: Path) -> str:
    """The token in a file; raises ConfigError where there is none."""
    try:
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"[http] token_file: {file} cannot be read: {error}") from None
    if not token:
        raise ConfigError(f"[http] token_file: {file} is empty; expected a token")
    return token
