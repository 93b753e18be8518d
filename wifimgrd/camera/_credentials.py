"""The SSID and the password that a camera has told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from wifimgrd.camera._link import Trouble
from wifimgrd.domain.device import Passphrase

_LONGEST_SSID: Final = 32
_PASSWORD: Final = re.compile(rb"[ -~]{8,63}")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of a camera's access point."""

    ssid: bytes
    password: Passphrase


def credentials_of(ssid: bytes, password: bytes) -> Credentials:
    """Check what was read: values may have zeros at their ends. Raises Trouble, without the password."""
    name, secret = ssid.rstrip(b"\0"), password.rstrip(b"\0")
    if not 1 <= len(name) <= _LONGEST_SSID:
        raise Trouble("the camera told an SSID that is not valid")
    if not _PASSWORD.fullmatch(secret):
        raise Trouble("the camera told a password that is not valid")
    return Credentials(name, Passphrase(secret.decode("ascii")))
