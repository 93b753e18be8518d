"""Certificates are checked strictly by Python 3.13; the reason says which extension is missing."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from tests.mqtt.certificates import Authority, Extensions
from wifimgrd.mqtt._access import Tls
from wifimgrd.mqtt._refusals import cannot_connect

BROKER = "mqtts://127.0.0.1"


def handshake(authority: Authority) -> None:
    """Connect to a server with a certificate of this authority; raises ssl.SSLError."""
    context = Tls(authority.file).context()
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(*authority.sign("server"))
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    server = serving.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    client.do_handshake()


def test_an_authority_with_all_extensions_is_accepted(tmp_path: Path) -> None:
    handshake(Authority(tmp_path, "authority"))


@pytest.mark.parametrize(
    ("extensions", "said"),
    [
        (Extensions.WITHOUT_KEY_USAGE, "keyUsage=critical,keyCertSign"),
        (Extensions.WITHOUT_AUTHORITY_KEY, "authorityKeyIdentifier"),
    ],
)
def test_the_missing_extension_is_named(tmp_path: Path, extensions: Extensions, said: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError) as caught:
        handshake(Authority(tmp_path, "authority", extensions))
    reason = cannot_connect(BROKER, caught.value)
    assert reason.startswith(f"the certificate of {BROKER} ")
    assert f"the extension {said}" in reason
