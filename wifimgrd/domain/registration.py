"""The values with which a client registers or changes a device, field by field.

Values have any type that a client may send; each is checked here and nowhere else.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, TypeVar

from wifimgrd.domain.adapter import NO_PIN, AdapterPin
from wifimgrd.domain.device import CONNECTION_TYPE, DeviceId, Passphrase, Ssid
from wifimgrd.domain.errors import InvalidRequest

REQUIRED: Final = "This field is required."
_LONGEST_TEXT: Final = 128
_LONGEST_KEY: Final = 255
HIGHEST_PRIORITY: Final = 1000
MAC_PATTERN: Final = "([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}"
USB_PORT_PATTERN: Final = r"[0-9]{1,4}-[0-9]{1,4}(\.[0-9]{1,4}){0,8}"
_MAC: Final = re.compile(MAC_PATTERN)
_USB_PORT: Final = re.compile(USB_PORT_PATTERN)
_EXPECTED_PIN: Final = 'Either {"mac": "00:c0:ca:12:34:56"} or {"usb_port": "1-1.4"}, or null for none.'
_HEX: Final = frozenset(string.hexdigits)

Fields = Mapping[str, object]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a new device begins with, beside its network."""

    pin: AdapterPin = NO_PIN
    connect: bool | None = None
    """Whether it is connected at once; None: as the configuration says."""
    when_free: bool = False
    """If no adapter is free for that, it waits for one."""


@dataclass(frozen=True, slots=True)
class Registration:
    """The checked values of a new device."""

    codename: str
    ssid: Ssid
    passphrase: Passphrase
    name: str | None = None
    idempotency_key: str | None = None
    auto_reconnect: bool = True
    priority: int = 0
    auto_wake: bool = False
    beginning: Beginning = Beginning()

    def values(self) -> bytes:
        """All values but the idempotency key, which tell a repeat of a request from another one; with the
        password, so they are kept only where that is kept."""
        password = self.passphrase.reveal()
        values: list[object] = [
            self.codename,
            self.ssid.octets,
            password,
            self.name,
            self.auto_reconnect,
            self.priority,
        ]
        # Otherwise as the versions before have stored requests.
        if self.auto_wake:
            values.append(self.auto_wake)
        if self.beginning != Beginning():
            values.append(self.beginning)
        return repr(tuple(values)).encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class PairingRegistration:
    """The checked values of a new device that says itself what its network is, once it is paired."""

    bluetooth_address: str
    """Upper case with colons."""
    codename: str | None = None
    name: str | None = None
    idempotency_key: str | None = None
    auto_reconnect: bool = True
    priority: int = 0
    auto_wake: bool = False
    beginning: Beginning = Beginning()

    def values(self) -> bytes:
        """As those of a Registration."""
        return repr(replace(self, idempotency_key=None)).encode("utf-8", "surrogatepass")

    def of_network(self, codename: str, ssid: bytes, password: Passphrase) -> Fields:
        """The fields of the registration, as if its network had been typed."""
        fields: dict[str, object] = {
            "codename": codename,
            "connection_type": CONNECTION_TYPE,
            "ssid": ssid,
            "password": password.reveal(),
            "auto_reconnect": self.auto_reconnect,
            "priority": self.priority,
            "auto_wake": self.auto_wake,
        }
        if self.name is not None:
            fields["name"] = self.name
        if self.idempotency_key is not None:
            fields["idempotency_key"] = self.idempotency_key
        return fields


@dataclass(frozen=True, slots=True)
class Amendment:
    """The checked changes to a device."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    """Attribute of Device -> its new value; an attribute that is left out stays. An empty pin removes the
    present one."""
    passphrase: Passphrase | None = None
    """The new one; None leaves it as it is."""


def parse_registration(
    fields: Fields, codenames: Collection[str] | None = None, *, is_stored: bool = False
) -> Registration:
    """Check a creation payload; `codenames` are those allowed, None allows any. `is_stored`: it may be of an
    earlier version, which accepted the text of a QR code as a name.

    Raises InvalidRequest with the sentences of every field at fault. Unknown fields are ignored.
    """
    check = _Checker(_flat(fields), is_stored=is_stored)
    codename = check.required("codename", _text)
    check.codename(codename, codenames)
    check.required("connection_type", _connection_type)
    ssid = check.required("ssid", _ssid)
    passphrase = check.required("password", _passphrase)
    name = check.optional("name", _text)
    key = check.optional("idempotency_key", _key)
    auto_reconnect = check.optional("auto_reconnect", _switch)
    priority = check.optional("priority", _priority)
    auto_wake = check.optional("auto_wake", _switch)
    beginning = check.beginning()
    check.finish()
    if codename is None or ssid is None or passphrase is None:
        raise InvalidRequest("a required field is missing")
    return Registration(
        codename,
        ssid,
        passphrase,
        name,
        key,
        auto_reconnect=auto_reconnect is not False,
        priority=priority or 0,
        auto_wake=auto_wake or False,
        beginning=beginning,
    )


def parse_pairing_registration(
    fields: Fields, codenames: Collection[str] | None = None
) -> PairingRegistration | None:
    """Check a creation payload that has a Bluetooth address in place of a network; None if it has none.

    Raises InvalidRequest as parse_registration does.
    """
    flat = _flat(fields)
    if "bluetooth_address" not in flat:
        return None
    check = _Checker(flat)
    address = check.required("bluetooth_address", _bluetooth_address)
    codename = check.optional("codename", _text)
    check.codename(codename, codenames)
    if "connection_type" in flat:
        check.optional("connection_type", _connection_type)
    for other in ("ssid", "password"):
        if other in flat:
            check.blame(other, "It stands beside bluetooth_address; give one of them.")
    name = check.optional("name", _text)
    key = check.optional("idempotency_key", _key)
    auto_reconnect = check.optional("auto_reconnect", _switch)
    priority = check.optional("priority", _priority)
    auto_wake = check.optional("auto_wake", _switch)
    beginning = check.beginning()
    check.finish()
    if address is None:
        raise InvalidRequest("a required field is missing")
    return PairingRegistration(
        address,
        codename,
        name,
        key,
        auto_reconnect=auto_reconnect is not False,
        priority=priority or 0,
        auto_wake=auto_wake or False,
        beginning=beginning,
    )


def parse_bluetooth_address(value: object) -> str:
    """A Bluetooth address of a request, upper case with colons; raises InvalidRequest."""
    try:
        return _bluetooth_address(value)
    except _Fault as fault:
        raise InvalidRequest(f"address: {fault}", {"address": (str(fault),)}) from None


def parse_amendment(fields: Fields, codenames: Collection[str] | None = None) -> Amendment:
    """Check a change; raises InvalidRequest as parse_registration does."""
    check = _Checker(_flat(fields))
    read = {name: check.optional(name, reader) for name, reader in _AMENDABLE.items()}
    check.codename(read["codename"], codenames)
    check.finish()
    passphrase = read.pop("password")
    return Amendment({name: value for name, value in read.items() if value is not None}, passphrase)


def default_name(ssid: Ssid, taken: Collection[str]) -> str:
    """The printable SSID, with ` #2` and so on appended if that name is taken."""
    return free_name(ssid.printable, taken)


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name, with ` #2` and so on appended if it is taken."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        suffix = f" #{number}"
        name = wanted[: _LONGEST_TEXT - len(suffix)] + suffix
    return name


def renamed_duplicates(names: Mapping[DeviceId, str]) -> dict[DeviceId, str]:
    """The new names of the devices that have the name of another one of lower id."""
    taken, seen = set(names.values()), set[str]()
    renamed: dict[DeviceId, str] = {}
    for device_id in sorted(names):
        name = names[device_id]
        if name in seen:
            name = renamed[device_id] = free_name(name, taken)
            taken.add(name)
        seen.add(name)
    return renamed


class _Fault(Exception):
    """The sentence for an invalid value."""


class _Checker:
    """Reads fields one by one and collects their errors."""

    def __init__(self, fields: Fields, *, is_stored: bool = False) -> None:
        self._fields = fields
        self._is_stored = is_stored
        self._faults: dict[str, tuple[str, ...]] = {}

    def required(self, name: str, read: Callable[[object], _T]) -> _T | None:
        if name not in self._fields:
            self.blame(name, REQUIRED)
        return self.optional(name, read)

    def optional(self, name: str, read: Callable[[object], _T]) -> _T | None:
        if name not in self._fields:
            return None
        try:
            if name in ("ssid", "name") and not self._is_stored:
                _refuse_qr_code(self._fields[name])
            return read(self._fields[name])
        except _Fault as fault:
            self.blame(name, str(fault))
            return None

    def blame(self, name: str, sentence: str) -> None:
        self._faults[name] = (*self._faults.get(name, ()), sentence)

    def codename(self, codename: str | None, known: Collection[str] | None) -> None:
        """A codename has to be one of the known ones, if only these are allowed."""
        if known is not None and codename is not None and codename not in known:
            self.blame("codename", "Invalid device codename.")

    def beginning(self) -> Beginning:
        """What a new device begins with."""
        pin, connect = self.optional("pin", _pin), self.optional("connect", _switch)
        return Beginning(pin or NO_PIN, connect, self.optional("when_free", _switch) or False)

    def finish(self) -> None:
        if self._faults:
            text = "; ".join(f"{name}: {' '.join(found)}" for name, found in self._faults.items())
            raise InvalidRequest(text, self._faults)


def _flat(fields: Fields) -> Fields:
    """Accept `Ssid`, `ssid` and `connection_settings: {ssid: ...}` alike."""
    flat: dict[str, object] = {}
    for name, value in fields.items():
        key = _snake_case(name)
        if key == "connection_settings" and isinstance(value, Mapping):
            flat.update((_snake_case(inner), inner_value) for inner, inner_value in value.items())
        else:
            flat[key] = value
    return flat


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Fault(_not_text(value))
    if not value.strip():
        raise _Fault("This field may not be blank.")
    if len(value) > _LONGEST_TEXT:
        raise _Fault(f"At most {_LONGEST_TEXT} characters are allowed.")
    _refuse_control_characters(value)
    return value


def _connection_type(value: object) -> str:
    if not isinstance(value, str):
        raise _Fault(_not_text(value))
    if value != CONNECTION_TYPE:
        raise _Fault("Invalid connection type for the device.")
    return value


def _ssid(value: object) -> Ssid:
    if not isinstance(value, str | bytes):
        raise _Fault("Not a valid string.")
    octets = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    if not octets:
        raise _Fault("The SSID must not be empty.")
    if len(octets) > 32:
        raise _Fault(f"An SSID has at most 32 bytes; this one has {len(octets)}.")
    if b"\0" in octets:
        raise _Fault("NUL characters are not allowed.")
    if _has_surrogates(octets):
        raise _Fault("Lone surrogates are not allowed.")
    ssid = Ssid(octets)
    if ssid.text is not None:
        _refuse_control_characters(ssid.text)
    return ssid


def _passphrase(value: object) -> Passphrase:
    """A WPA passphrase of 8 to 63 printable ASCII characters, or a key of 64 hexadecimal digits
    (IEEE 802.11-2020, annex J.4.1); empty for an open network."""
    if not isinstance(value, str):
        raise _Fault(_not_text(value))
    if value == "" or (len(value) == 64 and _HEX.issuperset(value)):
        return Passphrase(value)
    if not all(" " <= character <= "~" for character in value):
        raise _Fault("Only printable ASCII characters are allowed.")
    if not 8 <= len(value) <= 63:
        raise _Fault(
            "A password has 8 to 63 characters, or 64 hexadecimal digits; leave it empty for an open network."
        )
    return Passphrase(value)


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Fault("Must be true or false.")
    return value


def _priority(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON has one type for all numbers
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > HIGHEST_PRIORITY:
        raise _Fault(f"Must be a whole number from -{HIGHEST_PRIORITY} to {HIGHEST_PRIORITY}.")
    return value


def _bluetooth_address(value: object) -> str:
    if not isinstance(value, str) or _MAC.fullmatch(value) is None:
        raise _Fault('A Bluetooth address such as "F4:DD:12:34:56:78".')
    return value.upper()


def _pin(value: object) -> AdapterPin:
    """An adapter's MAC address or USB port; NO_PIN if there is neither."""
    if not isinstance(value, Mapping) or len(value) > 1:
        raise _Fault(_EXPECTED_PIN)
    for name, text in value.items():
        if name == "mac" and isinstance(text, str) and _MAC.fullmatch(text):
            return AdapterPin(mac=text.lower())
        if name == "usb_port" and isinstance(text, str) and _USB_PORT.fullmatch(text):
            return AdapterPin(usb_port=text)
        raise _Fault(_EXPECTED_PIN)
    return NO_PIN


_AMENDABLE: Final[Mapping[str, Callable[[object], Any]]] = MappingProxyType(
    {
        "name": _text,
        "ssid": _ssid,
        "password": _passphrase,
        "auto_reconnect": _switch,
        "priority": _priority,
        "codename": _text,
        "pin": _pin,
        "auto_wake": _switch,
    }
)
"""What a client may change, and how it is read: attributes of Device, and the password."""


def _key(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_KEY:
        raise _Fault(f"An idempotency key has 1 to {_LONGEST_KEY} characters.")
    return value


def _not_text(value: object) -> str:
    if isinstance(value, bytes):
        return "NUL characters and lone surrogates are not allowed."
    return "Not a valid string."


def _has_surrogates(octets: bytes) -> bool:
    """Whether octets are text except for lone surrogates: not a rare SSID but a client's mistake."""
    try:
        octets.decode("utf-8", "surrogatepass").encode()
    except UnicodeDecodeError:
        return False
    except UnicodeEncodeError:
        return True
    return False


def _refuse_qr_code(value: object) -> None:
    """Refuse the text of a Wi-Fi QR code, which has the password, as a name: lists and logs have names."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if isinstance(text, str) and text.lstrip()[:5].upper() == "WIFI:":
        raise _Fault(
            "This is the text of a Wi-Fi QR code, and not a name: in it, the network's name follows S:,"
            " and its password P:."
        )


def _refuse_control_characters(text: str) -> None:
    if any(character < " " or "\x7f" <= character <= "\x9f" for character in text):
        raise _Fault("Control characters are not allowed.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _Fault("Lone surrogates are not allowed.")
