"""Files encrypted with a passphrase, in the format of age (https://age-encryption.org/v1).

Made with python3-cryptography, a dependency: a hub without internet access must be able to open its backup,
and the program `age` reads passphrases only from a terminal. Its format is used so that `age --decrypt` opens
such a file, too, on any other computer. ChaCha20 is fast on processors without instructions for AES.
"""

from __future__ import annotations

import re
import secrets
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Final

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

_MAGIC: Final = b"age-encryption.org/v1\n"
_LABEL: Final = b"age-encryption.org/v1/scrypt"
_HEADER: Final = re.compile(
    rb"age-encryption\.org/v1\n-> scrypt ([A-Za-z0-9+/]{22}) ([1-9][0-9]?)\n([A-Za-z0-9+/]{43})\n"
    rb"--- ([A-Za-z0-9+/]{43})\n"
)
"""With one recipient, a passphrase; age allows no other beside it."""
_WORK: Final = 16
"""Of scrypt, as a power of two: 64 MiB of memory, about two seconds on a Raspberry Pi 4."""
_MOST_WORK: Final = 18
"""The value of age itself: 256 MiB."""
_CHUNK: Final = 64 * 1024
_TAG: Final = 16
_NONCE: Final = 16
_NO_NONCE: Final = bytes(12)
"""Of a key that is used for one encryption."""


class WrongPassphrase(Exception):
    """The passphrase is wrong, or the file is damaged."""


def encrypted(octets: bytes, passphrase: str) -> bytes:
    """Encrypt octets with a passphrase."""
    key, salt, nonce = secrets.token_bytes(16), secrets.token_bytes(16), secrets.token_bytes(_NONCE)
    wrapped = ChaCha20Poly1305(_stretched(passphrase, salt, _WORK)).encrypt(_NO_NONCE, key, None)
    head = _MAGIC + b"-> scrypt %b %d\n%b\n---" % (_base64(salt), _WORK, _base64(wrapped))
    cipher = ChaCha20Poly1305(_derived(key, nonce, b"payload"))
    starts = range(0, max(1, len(octets)), _CHUNK)
    numbers = _chunk_nonces(len(starts))
    body = [cipher.encrypt(next(numbers), octets[start : start + _CHUNK], None) for start in starts]
    return b"".join([head, b" ", _base64(_mac(key, head).finalize()), b"\n", nonce, *body])


def decrypted(octets: bytes, passphrase: str) -> bytes:
    """Decrypt octets; raises WrongPassphrase."""
    found = _HEADER.match(octets)
    if found is None or int(found[2]) > _MOST_WORK:
        raise WrongPassphrase
    salt, wrapped, mac = (b64decode(found[number] + b"==") for number in (1, 3, 4))
    head = octets[: found.start(4) - 1]
    nonce, body = octets[found.end() : found.end() + _NONCE], octets[found.end() + _NONCE :]
    starts = range(0, len(body), _CHUNK + _TAG)
    numbers = _chunk_nonces(len(starts))
    try:
        stretched = _stretched(passphrase, salt, int(found[2]))
        key = ChaCha20Poly1305(stretched).decrypt(_NO_NONCE, wrapped, None)
        _mac(key, head).verify(mac)
        cipher = ChaCha20Poly1305(_derived(key, nonce, b"payload"))
        chunks = [cipher.decrypt(next(numbers), body[at : at + _CHUNK + _TAG], None) for at in starts]
    except (InvalidTag, InvalidSignature) as error:
        raise WrongPassphrase from error
    if not chunks:
        raise WrongPassphrase
    return b"".join(chunks)


def _stretched(passphrase: str, salt: bytes, work: int) -> bytes:
    return Scrypt(salt=_LABEL + salt, length=32, n=1 << work, r=8, p=1).derive(passphrase.encode())


def _derived(key: bytes, salt: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=purpose).derive(key)


def _mac(key: bytes, head: bytes) -> HMAC:
    mac = HMAC(_derived(key, b"", b"header"), SHA256())
    mac.update(head)
    return mac


def _chunk_nonces(count: int) -> Iterator[bytes]:
    """The nonce of each chunk: its number, and whether it is the last; none can be moved or cut off."""
    for number in range(count):
        yield bytes(3) + struct.pack(">Q?", number, number == count - 1)


def _base64(octets: bytes) -> bytes:
    return b64encode(octets).rstrip(b"=")
