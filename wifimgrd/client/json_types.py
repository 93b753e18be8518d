"""The types of the JSON values, over HTTP and on the channel. They are served, and the API's description
is made of them.

In `Annotated` a text is a description.
"""

from __future__ import annotations

from typing import Annotated, Final, NotRequired, TypedDict

from wifimgrd.domain.camera import StopReason
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.records import INTERFACE_NAME, PIN_SCHEMA

FAILED: Final = "failed"
"""The type of a status update on the channel for a failed attempt; it precedes its device's state."""


class Keywords:
    """In `Annotated`: further keywords of JSON Schema."""

    def __init__(self, **keywords: object) -> None:
        self.keywords = keywords


Id = Annotated[int, "The device's id: positive, never reused.", Keywords(minimum=1)]
Time = Annotated[str, "RFC 3339, in UTC.", Keywords(format="date-time")]
Percent = Annotated[int, Keywords(minimum=0, maximum=100)]
InterfaceName = Annotated[str, INTERFACE_NAME]


Pin = Annotated[dict[str, str], "An adapter, by its MAC address or its USB port.", Keywords(**PIN_SCHEMA)]


class SettingsJson(TypedDict):
    """How a device is connected; a password is never included."""

    ssid: Annotated[str, "The network's name; bytes that are not UTF-8 are replaced."]
    ssid_hex: NotRequired[
        Annotated[str, "The bytes of a name that is not UTF-8.", Keywords(pattern="^[0-9a-f]+$")]
    ]


class RemovedDeviceJson(TypedDict):
    """A device that was removed."""

    id: Id


class SignalJson(TypedDict):
    """The signal strength of a connected device, in steps of 5 %."""

    id: Id
    signal_strength: Percent


class SignalHistoryJson(TypedDict):
    """The signal strength of a device, and its battery, over time."""

    step_s: Annotated[int, "Seconds from one sample to the next."]
    samples: Annotated[
        list[
            Annotated[
                list[str | int],
                Keywords(
                    description="When it begins (RFC 3339, in UTC), the mean and the minimum, percent.",
                    minItems=3,
                    maxItems=3,
                ),
            ]
        ],
        "The earlier ones first; while the device was not connected there are none.",
    ]
    battery: Annotated[
        list[Percent | None],
        "How full the battery was in the minute of each sample, in their order; null if that is not known.",
    ]


class RecordingStoppedJson(TypedDict):
    """A recording has ended, by a command or without."""

    id: Id
    reason: Annotated[str, Keywords(enum=[one.value for one in StopReason])]


class OperationFailedJson(TypedDict):
    """A wake, a sleep, a pairing or a recovery step failed that nobody waits for."""

    id: Id
    operation: Annotated[str, "`wake`, `sleep`, `pair` or `recover`."]
    code: Annotated[str, Keywords(enum=sorted(one.value for one in ErrorCode))]
    message: Annotated[str, "The reason as a sentence for people."]


class RemovedInterfaceJson(TypedDict):
    """An adapter that was unplugged."""

    name: InterfaceName
