"""What the shim is told: made of the configuration once, checked, and complete."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wifimgrd import catalog
from wifimgrd.config import Config, ConfigError, TileSource
from wifimgrd.http.request_safety import LOOPBACK_NAMES, host_name
from wifimgrd.web_address import listen_address, plain_origin

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
    models: catalog.Models = field(default_factory=catalog.load)
    """Of cameras, that a client can offer."""

    @classmethod
    def of(cls, config: Config, listen: str | None = None, models: catalog.Models | None = None) -> Settings:
        """Read the configuration; `listen`, of the command line, takes the place of its own, `models` that of
        the shipped ones.

        Raises ConfigError.
        """
        try:
            host, port = listen_address(listen or config.http.listen)
        except ValueError as error:
            raise ConfigError(f"--listen: {error}") from None
        token_file = config.http.token_file
        return cls(
            platform=config.platform.name,
            listen_host=host,
            listen_port=port,
            hosts=allowed_hosts(socket.gethostname(), host, config.http.allowed_hosts),
            origins=frozenset(plain_origin(said) for said in config.http.allowed_origins),
            token=None if token_file is None else read_token(token_file),
            tile_sources=config.tiles.source,
            models=catalog.load() if models is None else models,
        )


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
