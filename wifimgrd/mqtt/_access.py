"""The data that a client needs to connect to a broker."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from wifimgrd.config.web_address import BrokerAddress


@dataclass(frozen=True, slots=True)
class Tls:
    """The files of a connection by TLS."""

    ca_file: Path | None = None
    """The authorities that may sign the broker's certificate; None = those of the host."""
    certificate: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Read the files; raises OSError, whose text names those that cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:  # ssl.SSLError is one
            raise _unusable(error, self.ca_file) from error
        if self.certificate is not None:
            try:
                context.load_cert_chain(self.certificate, self.key, password=_no_password)
            except (OSError, ValueError) as error:
                raise _unusable(error, self.certificate, self.key) from error
        return context


def _unusable(error: OSError | ValueError, *files: Path | None) -> OSError:
    names = " and ".join(str(file) for file in files if file is not None)
    reason = error.strerror if isinstance(error, OSError) else error
    return OSError(f"{names} cannot be used: {reason}")


def _no_password() -> str:
    raise ValueError("the key has a passphrase, and this service cannot prompt for it")


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
