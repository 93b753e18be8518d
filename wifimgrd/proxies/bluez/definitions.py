"""The D-Bus names and properties of BlueZ 5.66 to 5.82, each with the address of its documentation."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, TypedDict

BLUEZ: Final = "org.bluez"
BLUEZ_PATH: Final = "/org/bluez"
ROOT_PATH: Final = "/"
"""The object that lists the others."""
ADAPTER: Final = BLUEZ + ".Adapter1"
DEVICE: Final = BLUEZ + ".Device1"
CHARACTERISTIC: Final = BLUEZ + ".GattCharacteristic1"
AGENT: Final = BLUEZ + ".Agent1"
"""https://git.kernel.org/pub/scm/bluetooth/bluez.git/tree/doc/org.bluez.Agent.rst: the caller's object."""
AGENT_MANAGER: Final = BLUEZ + ".AgentManager1"
ADVERTISEMENT: Final = BLUEZ + ".LEAdvertisement1"
"""https://git.kernel.org/pub/scm/bluetooth/bluez.git/tree/doc/org.bluez.LEAdvertisement.rst: the caller's
object."""
ADVERTISING_MANAGER: Final = BLUEZ + ".LEAdvertisingManager1"

_ERROR: Final = BLUEZ + ".Error."
IN_PROGRESS: Final = _ERROR + "InProgress"
ALREADY_EXISTS: Final = _ERROR + "AlreadyExists"
DOES_NOT_EXIST: Final = _ERROR + "DoesNotExist"
REJECTED: Final = _ERROR + "Rejected"
"""The error that an agent answers."""

AUTHENTICATION_FAILED: Final = _ERROR + "AuthenticationFailed"
"""The other side has no key for this host, or another one."""
REASON_AUTHENTICATION: Final = "org.bluez.Reason.Authentication"
"""The first argument of a device's signal Disconnected, which newer versions send: as above."""


class Fault(Enum):
    """Whose fault it is that a Connect has failed."""

    NOT_DEVICE = "not the device"
    """This host's mostly: it says nothing of the device."""
    RADIO_OR_DEVICE = "radio or device"
    """The device has refused, or the first packets were lost: BlueZ has one text for both."""
    KEY = "key"
    """The device has no key for this host, or another one."""


_LE: Final = "le-connection-"
CONNECT_FAULTS: Final[Mapping[str, Fault]] = MappingProxyType(
    {
        _LE + "invalid-arguments": Fault.NOT_DEVICE,  # EINVAL
        _LE + "adapter-not-powered": Fault.NOT_DEVICE,  # EHOSTUNREACH
        _LE + "not-supported": Fault.NOT_DEVICE,  # EOPNOTSUPP, EPROTONOSUPPORT
        _LE + "already-connected": Fault.NOT_DEVICE,  # EALREADY, EISCONN
        _LE + "bad-socket": Fault.NOT_DEVICE,  # EBADFD
        _LE + "memory-allocation": Fault.NOT_DEVICE,  # ENOMEM
        _LE + "busy": Fault.NOT_DEVICE,  # EBUSY: another operation, or the controller does not allow it
        _LE + "refused": Fault.RADIO_OR_DEVICE,  # ECONNREFUSED
        _LE + "create-socket": Fault.NOT_DEVICE,  # EIO
        _LE + "timeout": Fault.NOT_DEVICE,  # ETIMEDOUT
        _LE + "concurrent-connection-limit": Fault.NOT_DEVICE,  # EMLINK
        _LE + "abort-by-remote": Fault.RADIO_OR_DEVICE,  # ECONNRESET
        _LE + "abort-by-local": Fault.RADIO_OR_DEVICE,  # ECONNABORTED, e.g. HCI 0x3e: the link never stood
        _LE + "link-layer-protocol-error": Fault.NOT_DEVICE,  # EPROTO
        _LE + "gatt-browsing": Fault.NOT_DEVICE,
        _LE + "key-missing": Fault.KEY,  # EBADE, in newer versions
        _LE + "unknown": Fault.NOT_DEVICE,
    }
)
"""The texts of FAILED for a Connect over LE, which BlueZ makes of the kernel's errno from 5.62 on:
https://git.kernel.org/pub/scm/bluetooth/bluez.git/tree/src/error.h and error.c. Before, and where no
connection is begun, it is strerror's, such as "Software caused connection abort". What is not in the table
is NOT_DEVICE."""


class AdapterProperties(TypedDict, total=False):
    """https://git.kernel.org/pub/scm/bluetooth/bluez.git/tree/doc/org.bluez.Adapter.rst"""

    Address: str
    Powered: bool


class DeviceProperties(TypedDict, total=False):
    """https://git.kernel.org/pub/scm/bluetooth/bluez.git/tree/doc/org.bluez.Device.rst"""

    Address: str
    Connected: bool
    ManufacturerData: dict[int, bytes]
    """By the number of the company."""
    Name: str
    Paired: bool
    RSSI: int
    """dBm; there while a discovery hears the device."""
    ServiceData: dict[str, bytes]
    """By the UUID of the service."""
    ServicesResolved: bool
    UUIDs: list[str]


class CharacteristicProperties(TypedDict, total=False):
    """https://git.kernel.org/pub/scm/bluetooth/bluez.git/tree/doc/org.bluez.GattCharacteristic.rst"""

    UUID: str
    Value: bytes
    """The value that was read or notified last."""
