"""Certificates for tests: an authority, and what it signs."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    kind, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file.write_bytes(key.private_bytes(kind, form, serialization.NoEncryption()))


_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class Validity(Enum):
    """From when to when a certificate is valid, in days from now."""

    NOW = (-2, 1)
    EXPIRED = (-2, -1)
    LATER = (1, 2)


class Extensions(Enum):
    """What the authority and its certificates have, of what Python 3.13 demands."""

    ALL = "all"
    WITHOUT_KEY_USAGE = "the authority has no keyUsage"
    WITHOUT_AUTHORITY_KEY = "certificates have no authorityKeyIdentifier"


@dataclass
class Authority:
    """An authority, with its certificate in a file."""

    folder: Path
    name: str
    extensions: Extensions = Extensions.ALL

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        basic = x509.BasicConstraints(ca=True, path_length=None)
        made = self._builder(self.name, self._key.public_key(), Validity.NOW)
        made = made.add_extension(basic, critical=True).add_extension(own, critical=False)
        if self.extensions is not Extensions.WITHOUT_KEY_USAGE:
            made = made.add_extension(_SIGNS_CERTIFICATES, critical=True)
        signed = made.sign(self._key, hashes.SHA256())
        self.file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    @property
    def file(self) -> Path:
        return self.folder / f"{self.name}.pem"

    def sign(self, name: str, validity: Validity = Validity.NOW) -> tuple[Path, Path]:
        """A certificate for 127.0.0.1 and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        made = self._builder(name, key.public_key(), validity)
        named = self.extensions is not Extensions.WITHOUT_AUTHORITY_KEY
        for extension in (names, own, authority) if named else (names, own):
            made = made.add_extension(extension, critical=False)
        certificate, key_file = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        signed = made.sign(self._key, hashes.SHA256())
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        _write_key(key_file, key)
        return certificate, key_file

    def _builder(
        self, name: str, key: ec.EllipticCurvePublicKey, validity: Validity
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        first_day, last_day = validity.value
        return x509.CertificateBuilder(
            issuer_name=_name(self.name),
            subject_name=_name(name),
            public_key=key,
            serial_number=x509.random_serial_number(),
            not_valid_before=now + timedelta(days=first_day),
            not_valid_after=now + timedelta(days=last_day),
        )
