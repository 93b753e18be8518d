"""The values that a client may give a device, each by itself: type, length and characters. A reader raises
Fault for any other value."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Final

from wifimgrd.domain.adapter import NO_PIN, AdapterPin
from wifimgrd.domain.device import CONNECTION_TYPE, Passphrase, Ssid

LONGEST_TEXT: Final = 128
_LONGEST_KEY: Final = 255
HIGHEST_PRIORITY: Final = 1000
LEFT_EMPTY: Final = "; leave it empty for an open network"
"""Of the sentence about a password."""
MAC_PATTERN: Final = "([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}"
USB_PORT_PATTERN: Final = r"[0-9]{1,4}-[0-9]{1,4}(\.[0-9]{1,4}){0,8}"
_MAC: Final = re.compile(MAC_PATTERN)
_USB_PORT: Final = re.compile(USB_PORT_PATTERN)
_EXPECTED_PIN: Final = 'Either {"mac": "00:c0:ca:12:34:56"} or {"usb_port": "1-1.4"}, or null for none.'
_WIFI_TEXT: Final = re.compile(r"[\x00-\x20\x7f\xa0\ufeff]*WIFI:", re.IGNORECASE | re.ASCII)
_HEX: Final = frozenset(string.hexdigits)


class Fault(Exception):
    """The sentence for an invalid value."""


def read_text(value: object) -> str:
    """A name or a codename: 1 to 128 characters, none of control."""
    if not isinstance(value, str):
        raise Fault(_not_text(value))
    if not value.strip():
        raise Fault("This field may not be blank.")
    if len(value) > LONGEST_TEXT:
        raise Fault(f"At most {LONGEST_TEXT} characters are allowed.")
    _refuse_control_characters(value)
    return value


def read_connection_type(value: object) -> str:
    """The only kind of connection that there is."""
    if not isinstance(value, str):
        raise Fault(_not_text(value))
    if value != CONNECTION_TYPE:
        raise Fault("Invalid connection type for the device.")
    return value


def read_ssid(value: object) -> Ssid:
    """A network's name, as text or as 1 to 32 bytes."""
    if not isinstance(value, str | bytes):
        raise Fault("Not a valid string.")
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    if not data:
        raise Fault("The SSID must not be empty.")
    if len(data) > 32:
        raise Fault(f"An SSID has at most 32 bytes; this one has {len(data)}.")
    if b"\0" in data:
        raise Fault("NUL characters are not allowed.")
    if _has_surrogates(data):
        raise Fault("Lone surrogates are not allowed.")
    ssid = Ssid(data)
    if ssid.text is not None:
        _refuse_control_characters(ssid.text)
    return ssid


def read_passphrase(value: object) -> Passphrase:
    """A WPA passphrase of 8 to 63 printable ASCII characters, or a key of 64 hexadecimal digits
    (IEEE 802.11-2020, annex J.4.1); empty for an open network."""
    if not isinstance(value, str):
        raise Fault(_not_text(value))
    if value == "" or (len(value) == 64 and _HEX.issuperset(value)):
        return Passphrase(value)
    if not all(" " <= character <= "~" for character in value):
        raise Fault("Only printable ASCII characters are allowed.")
    if not 8 <= len(value) <= 63:
        raise Fault(f"A password has 8 to 63 characters, or 64 hexadecimal digits{LEFT_EMPTY}.")
    return Passphrase(value)


def read_switch(value: object) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise Fault("Must be true or false.")
    return value


def read_priority(value: object) -> int:
    """A whole number; the higher one goes first."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON has one type for all numbers
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > HIGHEST_PRIORITY:
        raise Fault(f"Must be a whole number from -{HIGHEST_PRIORITY} to {HIGHEST_PRIORITY}.")
    return value


def read_bluetooth_address(value: object) -> str:
    """Upper case with colons."""
    if not isinstance(value, str) or _MAC.fullmatch(value) is None:
        raise Fault('A Bluetooth address such as "F4:DD:12:34:56:78".')
    return value.upper()


def read_pin(value: object) -> AdapterPin:
    """An adapter's MAC address or USB port; NO_PIN if there is neither."""
    if not isinstance(value, Mapping) or len(value) > 1:
        raise Fault(_EXPECTED_PIN)
    for name, text in value.items():
        if name == "mac" and isinstance(text, str) and _MAC.fullmatch(text):
            return AdapterPin(mac=text.lower())
        if name == "usb_port" and isinstance(text, str) and _USB_PORT.fullmatch(text):
            return AdapterPin(usb_port=text)
        raise Fault(_EXPECTED_PIN)
    return NO_PIN


def read_key(value: object) -> str:
    """An idempotency key."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_KEY:
        raise Fault(f"An idempotency key has 1 to {_LONGEST_KEY} characters.")
    return value


def _not_text(value: object) -> str:
    if isinstance(value, bytes):
        return "NUL characters and lone surrogates are not allowed."
    return "Not a valid string."


def _has_surrogates(data: bytes) -> bool:
    """Whether bytes are text except for lone surrogates: not a rare SSID but a client's mistake."""
    try:
        data.decode("utf-8", "surrogatepass").encode()
    except UnicodeDecodeError:
        return False
    except UnicodeEncodeError:
        return True
    return False


def is_wifi_text(text: str) -> bool:
    """Whether a text is meant as that of a Wi-Fi QR code, even if it cannot be read."""
    return _WIFI_TEXT.match(text) is not None


def refuse_qr_code(value: object) -> None:
    """Refuse the text of a Wi-Fi QR code, which has the password, as a name: lists and logs have names."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if isinstance(text, str) and is_wifi_text(text):
        raise Fault(
            "This is the text of a Wi-Fi QR code, and not a name: in it, the network's name follows S:,"
            " and its password P:."
        )


def _refuse_control_characters(text: str) -> None:
    if any(character < " " or "\x7f" <= character <= "\x9f" for character in text):
        raise Fault("Control characters are not allowed.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Fault("Lone surrogates are not allowed.")
