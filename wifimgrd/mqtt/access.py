"""What a client needs to connect to a broker."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from wifimgrd.web_address import BrokerAddress


@dataclass(frozen=True, slots=True)
class Tls:
    """The files of a connection by TLS."""

    ca_file: Path | None = None
    """The authorities that may sign the broker's certificate; None = those of the host."""
    certificate: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Read the files; raises OSError (ssl.SSLError is one)."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.certificate is not None:
            context.load_cert_chain(self.certificate, self.key)
        return context


@dataclass(frozen=True, slots=True)
class Access:
    """The broker, and who connects to it."""

    broker: BrokerAddress
    user: str = ""
    """Empty = none."""
    password: str | None = field(default=None, repr=False)
    tls: Tls | None = None
    """None = without TLS."""

    def tls_context(self) -> ssl.SSLContext | None:
        """As `Tls.context`; None without TLS."""
        return None if self.tls is None else self.tls.context()
