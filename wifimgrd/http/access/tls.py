"""HTTPS: the certificate and its key, read again on a reload."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from wifimgrd.config.configuration import FileUnusable


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files."""

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
