"""The shim's settings: made of the configuration once, checked, and complete."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from wifimgrd.config import catalog
from wifimgrd.config.configuration import Config, ConfigError, FileUnusable, Map, TileSource
from wifimgrd.config.web_address import WebSocketAddress, listen_address, plain_origin, web_socket_address
from wifimgrd.domain.camera_model import CameraModels
from wifimgrd.http.access.request_safety import LOOPBACK_NAMES, host_name
from wifimgrd.runtime.credentials import credential


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files for HTTPS, which are read again on a reload."""

    certificate: Path
    """The server's certificate, followed by the intermediate ones."""
    key: Path

    def context(self) -> ssl.SSLContext:
        """The context for connections; raises FileUnusable."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.set_alpn_protocols(["http/1.1"])
        self.load_into(context)
        return context

    def load_into(self, context: ssl.SSLContext) -> None:
        """Use the files as they are now for new connections; raises FileUnusable, with nothing changed."""
        for trial in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), context):
            try:
                trial.load_cert_chain(self.certificate, self.key, password=_no_password)
            except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
                files = f"{self.certificate} and {self.key}"
                raise FileUnusable(
                    f"[http] tls_certificate, tls_key: {files} cannot be used: {error}"
                ) from None


def _no_password() -> str:
    raise ValueError("the key has a passphrase, and this service cannot prompt for it")


TOKEN_LENGTH: Final = 16
"""The least number of characters of a token."""
_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not bound


@dataclass(frozen=True, slots=True)
class Fleet:
    """The settings for the page of all hubs of a broker."""

    broker: WebSocketAddress
    prefix: str
    """The beginning of all topics."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the shim."""

    platform: str = "platform"
    listen_host: str = "127.0.0.1"
    listen_port: int = 8080
    hosts: frozenset[str] = LOOPBACK_NAMES
    """Names that a Host header may contain, in the form of `host_name`."""
    origins: frozenset[str] = frozenset()
    """Admitted origins, in the form of `origin_of`."""
    token: str | None = field(default=None, repr=False)
    insecure_without_token: bool = False
    """Other hosts are served without a token."""
    tls: TlsFiles | None = None
    """None = HTTP, not HTTPS."""
    fleet: Fleet | None = None
    """None = there is no page of all hubs."""
    tile_sources: tuple[TileSource, ...] = ()
    map: Map = field(default_factory=Map)
    """With `tiles` set, if a source of tiles has an archive."""
    models: CameraModels = field(default_factory=catalog.load)
    """The camera models that a client can offer."""

    @classmethod
    def of(cls, config: Config, listen: str | None = None, models: CameraModels | None = None) -> Settings:
        """Read the configuration; `listen`, of the command line, replaces its own value, `models` the shipped
        ones.

        Raises ConfigError.
        """
        try:
            host, port = listen_address(listen or config.http.listen)
        except ValueError as error:
            raise ConfigError(f"--listen: {error}") from None
        token_file, certificate, key = (
            None if file is None else credential(file)
            for file in (config.http.token_file, config.http.tls_certificate, config.http.tls_key)
        )
        fleet_broker = config.http.fleet_broker
        return cls(
            platform=config.platform.name,
            listen_host=host,
            listen_port=port,
            hosts=allowed_hosts(socket.gethostname(), host, config.http.allowed_hosts),
            origins=frozenset(plain_origin(origin) for origin in config.http.allowed_origins),
            token=None if token_file is None else read_token(token_file),
            insecure_without_token=config.http.insecure_without_token,
            tls=None if certificate is None or key is None else TlsFiles(certificate, key),
            fleet=Fleet(web_socket_address(fleet_broker), config.mqtt.prefix) if fleet_broker else None,
            tile_sources=config.tiles.source,
            map=replace(config.map, tiles=config.map_tiles),
            models=catalog.load() if models is None else models,
        )


def allowed_hosts(own_name: str, listen_host: str, more: tuple[str, ...]) -> frozenset[str]:
    """The names that a Host header may contain, except the address of the connection."""
    first = own_name.partition(".")[0]
    names = {own_name, first, f"{first}.local", *more}
    if listen_host not in _EVERYWHERE:
        names.add(listen_host)
    return LOOPBACK_NAMES | frozenset(host_name(name) for name in names if name)


def read_token(file: Path) -> str:
    """The token in a file; raises ConfigError if there is none."""
    try:
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileUnusable(f"[http] token_file: {file} cannot be read: {error}") from None
    if not token:
        raise FileUnusable(f"[http] token_file: {file} is empty; expected a token")
    if len(token) < TOKEN_LENGTH:
        raise ConfigError(f"[http] token_file: the token in {file} has fewer than {TOKEN_LENGTH} characters")
    return token
