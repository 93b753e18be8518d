"""The D-Bus names and properties of BlueZ 5.66 to 5.82, each with the address of its documentation."""

from __future__ import annotations

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
FAILED: Final = _ERROR + "Failed"
"""With a text, of which these have a meaning of their own."""
IN_PROGRESS: Final = _ERROR + "InProgress"
NOT_READY: Final = _ERROR + "NotReady"
"""The adapter is off."""
ALREADY_EXISTS: Final = _ERROR + "AlreadyExists"
DOES_NOT_EXIST: Final = _ERROR + "DoesNotExist"
REJECTED: Final = _ERROR + "Rejected"
"""What an agent answers."""

TEXT_IO_ERROR: Final = "Input/output error"
"""Connect: the adapter is off, or the kernel is still ending the last link."""
TEXT_IN_PROGRESS: Final = "Operation already in progress"
"""Connect while it is called already: InProgress from 5.82 on."""


class AdapterProperties(TypedDict, total=False):
    """https://git.kernel.org/pub/scm/bluetooth/bluez.git/tree/doc/org.bluez.Adapter.rst"""

    Address: str
    Discovering: bool
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
    """What was read or notified last."""


class DiscoveryFilter(TypedDict, total=False):
    """What SetDiscoveryFilter takes, in AdapterProperties' document."""

    Transport: str
    DuplicateData: bool
    UUIDs: list[str]
