"""The errors of requests and links, as one small class tree. Each is declared here and nowhere else.

The codes are public (docs/http.md, "Errors"). Their names on D-Bus, their statuses over HTTP, the errors of a
command and the counters of attempts are derived from the classes. The sentence of an error is where it is
raised: that of a join or a link mostly in `diagnosis.py`, which the backends share, else in the backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import ClassVar, Final, Self


class ErrorCode(StrEnum):
    """The public error codes that a device, a command or the hub can report."""

    INVALID_REQUEST = "invalid-request"
    CANCELLED = "cancelled"
    DEVICE_NOT_FOUND = "device-not-found"
    INTERFACE_NOT_FOUND = "interface-not-found"
    GROUP_NOT_FOUND = "group-not-found"
    NO_INTERFACE_AVAILABLE = "no-interface-available"
    BUSY = "busy"
    DEVICE_NOT_REACHABLE = "device-not-reachable"
    AUTHENTICATION_FAILED = "authentication-failed"
    ASSOCIATION_REFUSED = "association-refused"
    ADDRESS_FAILED = "address-failed"
    INTERFACE_LOST = "interface-lost"
    CONNECTION_LOST = "connection-lost"
    BACKEND_UNAVAILABLE = "backend-unavailable"
    NOT_AUTHORIZED = "not-authorized"
    TOO_MANY_REQUESTS = "too-many-requests"
    IDEMPOTENCY_KEY_REUSED = "idempotency-key-reused"
    NOT_SUPPORTED = "not-supported"
    NOT_PAIRED = "not-paired"
    PAIRING_FAILED = "pairing-failed"
    WAKE_FAILED = "wake-failed"
    BLUETOOTH_UNAVAILABLE = "bluetooth-unavailable"
    CAMERA_BUSY = "camera-busy"
    CAMERA_REFUSED = "camera-refused"
    NOT_CONNECTED = "not-connected"
    UNCONFIRMED = "unconfirmed"
    INTERNAL = "internal"


class WifimgrdError(Exception):
    """Root of the tree: a code for programs and a message for users."""

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"
    """The status and the title of its answers over HTTP."""
    dbus_name: ClassVar[str] = ""
    """The last part of its name on D-Bus if that is not the name of the class."""
    ends_attempt: ClassVar[bool] = False
    """Whether an attempt to connect can end with it, before there is a link."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidRequest(WifimgrdError):
    """An invalid request; `fields` maps each invalid field to its messages."""

    code = ErrorCode.INVALID_REQUEST
    status = 400
    title = "Invalid request"
    dbus_name = "InvalidArguments"

    def __init__(self, message: str, fields: Mapping[str, tuple[str, ...]] | None = None) -> None:
        super().__init__(message)
        self.fields: Mapping[str, tuple[str, ...]] = MappingProxyType(dict(fields or {}))


class Cancelled(WifimgrdError):
    """The attempt was cancelled by a disconnect or a removal."""

    code = ErrorCode.CANCELLED
    status = 409
    title = "The attempt was cancelled"
    ends_attempt = True


class DeviceNotFound(WifimgrdError):
    """No device has that id."""

    code = ErrorCode.DEVICE_NOT_FOUND
    status = 404
    title = "No such device"

    @classmethod
    def of(cls, device_id: int) -> Self:
        """The error for an id."""
        return cls(f"there is no camera {device_id}")


class InterfaceNotFound(WifimgrdError):
    """No listed interface has that name."""

    code = ErrorCode.INTERFACE_NOT_FOUND
    status = 404
    title = "No such interface"

    @classmethod
    def of(cls, name: str) -> Self:
        """The error for a name."""
        return cls(f"there is no interface {name}")


class GroupNotFound(WifimgrdError):
    """The configuration has no group of that name."""

    code = ErrorCode.GROUP_NOT_FOUND
    status = 404
    title = "No such group"


class NoInterfaceAvailable(WifimgrdError):
    """Every interface is in use, unavailable or unsuitable; `reasons` has the reason for each."""

    code = ErrorCode.NO_INTERFACE_AVAILABLE
    status = 409
    title = "No Wi-Fi interface is available"
    ends_attempt = True

    def __init__(self, message: str, reasons: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reasons: Mapping[str, str] = MappingProxyType(dict(reasons or {}))


class Busy(WifimgrdError):
    """The device is disconnecting or being removed."""

    code = ErrorCode.BUSY
    status = 409
    title = "The device is busy"


class DeviceNotReachable(WifimgrdError):
    """Its network was not seen, or did not answer: powered off or out of range."""

    code = ErrorCode.DEVICE_NOT_REACHABLE
    status = 504
    title = "The camera is not reachable"
    ends_attempt = True


class ServiceRefused(DeviceNotReachable):
    """The camera is there, and refuses connections at a port."""


class AuthenticationFailed(WifimgrdError):
    """The network refused the passphrase."""

    code = ErrorCode.AUTHENTICATION_FAILED
    status = 502
    title = "The camera refused the password"
    ends_attempt = True


class AssociationRefused(WifimgrdError):
    """The camera is there and refused the association; often another phone or host is connected to it."""

    code = ErrorCode.ASSOCIATION_REFUSED
    status = 502
    title = "The camera refused the connection"
    ends_attempt = True


class AddressFailed(WifimgrdError):
    """Associated, but without an address, or with one that this host cannot use."""

    code = ErrorCode.ADDRESS_FAILED
    status = 504
    title = "The camera gave no usable address"
    ends_attempt = True


class InterfaceLost(WifimgrdError):
    """The adapter can no longer be used; the message says what happened to it (`domain/interface.py`)."""

    code = ErrorCode.INTERFACE_LOST
    status = 502
    title = "The Wi-Fi adapter was lost"
    ends_attempt = True


class AdapterTaken(InterfaceLost):
    """The adapter is still there, and another program uses it."""


class ConnectionLost(WifimgrdError):
    """The link dropped after it was up."""

    code = ErrorCode.CONNECTION_LOST
    status = 502
    title = "The connection was lost"


class BackendUnavailable(WifimgrdError):
    """A service behind the backend, or for clients the daemon, is not running, does not answer or refuses."""

    code = ErrorCode.BACKEND_UNAVAILABLE
    status = 503
    title = "The service is not available"
    ends_attempt = True


class NotAuthorized(WifimgrdError):
    """The caller may not do that."""

    code = ErrorCode.NOT_AUTHORIZED
    status = 403
    title = "Not allowed"


class IdempotencyKeyReused(WifimgrdError):
    """Another request had that idempotency key."""

    code = ErrorCode.IDEMPOTENCY_KEY_REUSED
    status = 422
    title = "Another request had this key"


class DialogueNeeded(NotAuthorized):
    """The caller may do that once its user has entered a password, and has not allowed a dialogue."""


class LimitsExceeded(WifimgrdError):
    """The caller has more commands under way than one client may have."""

    code = ErrorCode.TOO_MANY_REQUESTS
    status = 429
    title = "Too many requests"


class NotSupported(WifimgrdError):
    """Cameras of this model, or this camera, cannot do that."""

    code = ErrorCode.NOT_SUPPORTED
    status = 409
    title = "The camera cannot do that"


class NotPaired(WifimgrdError):
    """The camera and this hub are not paired over Bluetooth, or one has provably forgotten the other."""

    code = ErrorCode.NOT_PAIRED
    status = 409
    title = "The camera is not paired"
    ends_attempt = True


class PairingFailed(WifimgrdError):
    """The camera was not found, refused to be paired, or did not say what its network is."""

    code = ErrorCode.PAIRING_FAILED
    status = 502
    title = "The camera could not be paired"


class WakeFailed(WifimgrdError):
    """The camera did not wake: out of range, switched off, or its Wi-Fi did not come up."""

    code = ErrorCode.WAKE_FAILED
    status = 504
    title = "The camera did not wake"
    ends_attempt = True


class BluetoothUnavailable(WifimgrdError):
    """This host has no Bluetooth now; the message says why."""

    code = ErrorCode.BLUETOOTH_UNAVAILABLE
    status = 503
    title = "Bluetooth is not available"
    ends_attempt = True


class CameraBusy(WifimgrdError):
    """The camera is doing something that must not be interrupted."""

    code = ErrorCode.CAMERA_BUSY
    status = 409
    title = "The camera is busy"


class CameraRefused(WifimgrdError):
    """The camera answered a command with a refusal, or with what it should not; the message says which."""

    code = ErrorCode.CAMERA_REFUSED
    status = 502
    title = "The camera refused"


class NotConnected(WifimgrdError):
    """The command needs a camera that is connected."""

    code = ErrorCode.NOT_CONNECTED
    status = 409
    title = "The camera is not connected"


class Unconfirmed(WifimgrdError):
    """The camera may have done what it was told: its answer was lost, and its state could not be read in
    time."""

    code = ErrorCode.UNCONFIRMED
    status = 504
    title = "It is not known whether the camera has done it"


class InternalError(WifimgrdError):
    """A bug: the traceback is in the log, not in the reply."""

    code = ErrorCode.INTERNAL
    dbus_name = "Failed"
    ends_attempt = True


CLASSES: Final[Mapping[ErrorCode, type[WifimgrdError]]] = MappingProxyType(
    {kind.code: kind for kind in WifimgrdError.__subclasses__()}
)
"""The error of each code."""
ATTEMPT_CODES: Final = tuple(code for code, kind in CLASSES.items() if kind.ends_attempt)
"""The codes that an attempt to connect can end with, before there is a link."""


def error_of(code: ErrorCode, message: str) -> WifimgrdError:
    """Build the error of the tree that carries `code`."""
    return CLASSES[code](message)
