"""The requests with which a client registers or changes a device: which fields they have, and what is wrong
with them, all at once. They are checked here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, TypeVar

from wifimgrd.domain.adapter import NO_PIN, AdapterPin
from wifimgrd.domain.device import CONNECTION_TYPE, DeviceId, Passphrase, Ssid
from wifimgrd.domain.device_values import (
    LONGEST_TEXT,
    Fault,
    read_bluetooth_address,
    read_connection_type,
    read_key,
    read_passphrase,
    read_pin,
    read_priority,
    read_ssid,
    read_switch,
    read_text,
    refuse_qr_code,
)
from wifimgrd.domain.errors import InvalidRequest

REQUIRED: Final = "This field is required."

Fields = Mapping[str, object]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Beginning:
    """The settings with which a new device begins, beside its network."""

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
            self.ssid.data,
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
    codename = check.required("codename", read_text)
    check.codename(codename, codenames)
    check.required("connection_type", read_connection_type)
    ssid = check.required("ssid", read_ssid)
    passphrase = check.required("password", read_passphrase)
    name = check.optional("name", read_text)
    key = check.optional("idempotency_key", read_key)
    auto_reconnect = check.optional("auto_reconnect", read_switch)
    priority = check.optional("priority", read_priority)
    auto_wake = check.optional("auto_wake", read_switch)
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
    address = check.required("bluetooth_address", read_bluetooth_address)
    codename = check.optional("codename", read_text)
    check.codename(codename, codenames)
    if "connection_type" in flat:
        check.optional("connection_type", read_connection_type)
    for other in ("ssid", "password"):
        if other in flat:
            check.blame(other, "It stands beside bluetooth_address; give one of them.")
    name = check.optional("name", read_text)
    key = check.optional("idempotency_key", read_key)
    auto_reconnect = check.optional("auto_reconnect", read_switch)
    priority = check.optional("priority", read_priority)
    auto_wake = check.optional("auto_wake", read_switch)
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
        return read_bluetooth_address(value)
    except Fault as fault:
        raise InvalidRequest(f"address: {fault}", {"address": (str(fault),)}) from None


def parse_amendment(fields: Fields, codenames: Collection[str] | None = None) -> Amendment:
    """Check a change; raises InvalidRequest as parse_registration does."""
    check = _Checker(_flat(fields))
    read = {name: check.optional(name, reader) for name, reader in _AMENDABLE.items()}
    check.codename(read["codename"], codenames)
    check.finish()
    passphrase = read.pop("password")
    return Amendment({name: value for name, value in read.items() if value is not None}, passphrase)


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name, with ` #2` and so on appended if it is taken."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        suffix = f" #{number}"
        name = wanted[: LONGEST_TEXT - len(suffix)] + suffix
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
                refuse_qr_code(self._fields[name])
            return read(self._fields[name])
        except Fault as fault:
            self.blame(name, str(fault))
            return None

    def blame(self, name: str, sentence: str) -> None:
        self._faults[name] = (*self._faults.get(name, ()), sentence)

    def codename(self, codename: str | None, known: Collection[str] | None) -> None:
        """A codename has to be one of the known ones, if only these are allowed."""
        if known is not None and codename is not None and codename not in known:
            self.blame("codename", "Invalid device codename.")

    def beginning(self) -> Beginning:
        """The settings with which a new device begins."""
        pin, connect = self.optional("pin", read_pin), self.optional("connect", read_switch)
        return Beginning(pin or NO_PIN, connect, self.optional("when_free", read_switch) or False)

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


_AMENDABLE: Final[Mapping[str, Callable[[object], Any]]] = MappingProxyType(
    {
        "name": read_text,
        "ssid": read_ssid,
        "password": read_passphrase,
        "auto_reconnect": read_switch,
        "priority": read_priority,
        "codename": read_text,
        "pin": read_pin,
        "auto_wake": read_switch,
    }
)
"""The values that a client may change, and how each is read: attributes of Device, and the password."""
