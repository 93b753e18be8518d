"""The log events with a MESSAGE_ID in the journal: those that matter to an administrator.

`systemd/wifimgrd.catalog` has the explanation that `journalctl -x` shows for each. A MESSAGE_ID, once
released, never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """A log event with a MESSAGE_ID."""

    identity: str
    """MESSAGE_ID: 128 bits in hexadecimal (systemd.journal-fields(7))."""
    operation: str
    """WIFIMGRD_OPERATION: the operation that the event belongs to."""
    text: str
    """The sentence, with the event's fields in braces."""


_DEVICE: Final = '"{device_name}" (device {device}): '
_FAILED: Final = _DEVICE + "connecting through {interface} failed: {reason} ({code})"

MESSAGES: Final[Mapping[tuple[str, str], KnownMessage]] = MappingProxyType(
    {
        ("connected", ""): KnownMessage(
            "2c1b8f5d7e0a4b6f9d3c5a1e7f42d801",
            "connect",
            _DEVICE + "connected through {interface}, the camera is {camera_address}",
        ),
        ("connection_failed", ""): KnownMessage("5f0e9a3c4d2b4178a6e1c07d93b85f02", "connect", _FAILED),
        ("connection_failed", "device-not-reachable"): KnownMessage(
            "83d4c7e16b5f49a0b2f8e9d1a07c3603", "connect", _FAILED
        ),
        ("connection_failed", "authentication-failed"): KnownMessage(
            "b96a2f08e4d14c53971fd5c8203ae704", "connect", _FAILED
        ),
        ("connection_failed", "association-refused"): KnownMessage(
            "e07d51b2c93f4e6886a4f3b19d5c0205", "connect", _FAILED
        ),
        ("connection_failed", "address-failed"): KnownMessage(
            "1a8e6d4f30b74c95bd2e7c60f95a1806", "connect", _FAILED
        ),
        ("connection_refused", ""): KnownMessage(
            "47f2b0c9a85d4d3e9c16e8d7350fb207", "connect", _DEVICE + "not connected: {reason} ({code})"
        ),
        ("group_refused", ""): KnownMessage(
            "1e4bd3ec1ff24c52a2ab7b2c5a0f6c71",
            "connect",
            'the group "{group}" was not connected: {reason} ({code})',
        ),
        ("group_connected", ""): KnownMessage(
            "8d0c7a51c3f04be0b4c25b6d0be4f2a9",
            "connect",
            'the group "{group}": {connected} of {devices} devices are connected',
        ),
        ("freed_for_group", ""): KnownMessage(
            "b52f3a08e6c749d7a9c1d40f7e8b6d13",
            "connect",
            _DEVICE + 'disconnected, since the group "{group}" needs its adapter',
        ),
        ("group_device_unknown", ""): KnownMessage("e3b9641f7a5d4c08bb6d1f92c07a5e48", "group", "{reason}"),
        ("link_interrupted", ""): KnownMessage(
            "6ed93a17f5c24b80a4d7b2e85c901f08",
            "link",
            _DEVICE + "the link through {interface} dropped and may come back: {reason}",
        ),
        ("connection_lost", ""): KnownMessage(
            "9b05e8c2d7f346a1830fa6d4e12c7b09",
            "link",
            _DEVICE + "the link through {interface} is lost: {reason} ({code})",
        ),
        ("adapter_added", ""): KnownMessage(
            "c3f71e4ab0d8459296b5d20e8a7f130a",
            "hotplug",
            "the adapter {interface} is available, in USB port {port}",
        ),
        ("adapter_removed", ""): KnownMessage(
            "f82a9d6c15e34b07bc480e7f3da5160b", "hotplug", "the adapter {interface} was removed"
        ),
        ("adapter_drifted", ""): KnownMessage(
            "79578d79a22f434290896f44c7757772",
            "hotplug",
            "something else on this host changes the adapter {interface}: {reason}",
        ),
        ("adapter_firmware_failed", ""): KnownMessage(
            "8c92a5145f2b4a89a7ea4d8533ec51e6",
            "recovery",
            "the firmware of the adapter {interface} crashed",
        ),
        ("adapter_recovery", ""): KnownMessage(
            "7af4231d0c1748bf888f41f2be31f6e3",
            "recovery",
            "the adapter {interface} {reason}; trying to recover it: {step}",
        ),
        ("adapter_quarantined", ""): KnownMessage(
            "6d68d9963e13417d85265a900a81e670",
            "recovery",
            "the adapter {interface} {reason}, and nothing helped: it is no longer used",
        ),
        ("usb_port_left_off", ""): KnownMessage(
            "b7c41d0e52f94a6c8e37d9a1460f2b95",
            "recovery",
            "the USB port {port} has no power, and cannot be switched on: {reason}",
        ),
        ("link_recovery", ""): KnownMessage(
            "c1b7e94d05f24f6a9e83d27f614ab08c",
            "recovery",
            _DEVICE + "the camera does not answer through {interface}; trying {step}. {reason}",
        ),
        ("link_recovery_over", ""): KnownMessage(
            "5ad08e2f7c614b39a1f5709ce832d46b", "recovery", _DEVICE + "{step}: {result}"
        ),
        ("adapter_not_kept", ""): KnownMessage(
            "3fd4784e041f4d53af0227715891811b", "reservation", _DEVICE + "{reason}"
        ),
        ("reserved_for_no_device", ""): KnownMessage(
            "55fb970e72a94e23bb6c09f6e49b2bf0", "reservation", "{reason}"
        ),
        ("backend_changed", "unavailable"): KnownMessage(
            "0d6b3fe2879c4a15a0f4c8e95b71d20c", "backend", "{backend} is unavailable: {reason}"
        ),
        ("backend_changed", "ready"): KnownMessage(
            "34e7c5a9f1204d8b96e2b07d8fc3a50d", "backend", "{backend} is ready"
        ),
        ("store_refused", ""): KnownMessage(
            "71c9f0d4b6e84325ad5e3a918f2cb60e",
            "start",
            "did not start, because the state cannot be used: {reason}",
        ),
        ("state_not_written", ""): KnownMessage(
            "b7c41e90d5a84f6c8e23f0a96d17c415",
            "store",
            "the state cannot be written, so devices cannot be registered, changed or removed: {reason}",
        ),
        ("start_refused", ""): KnownMessage(
            "a5e2847b3c9d4f60b107f6e4d8520c0f", "start", "did not start: {reason}"
        ),
        ("configuration_refused", ""): KnownMessage(
            "d81f6a0e92c54b73a8e4c5b7f03d9610",
            "reload",
            "the new configuration was rejected, and the old one stays in use: {reason}",
        ),
        ("addresses_conflict", ""): KnownMessage(
            "5c1e7f20b94a4d38a6e0d3f7c8125b12",
            "addresses",
            "cameras cannot be reached at their own addresses: {reason}",
        ),
        ("addresses_unavailable", ""): KnownMessage(
            "e94b60d7a2f34c1f8b57c60e1fd39a13",
            "addresses",
            "cameras cannot be reached at their own addresses; wifimgrd-net: {reason}",
        ),
        ("addresses_exhausted", ""): KnownMessage(
            "3ad80c5f17e94e2ab06cf92d84715e14",
            "addresses",
            "a camera got no address: {reason}",
        ),
        ("woken", ""): KnownMessage(
            "16b811e015144cb99776c1be47914693", "wake", _DEVICE + "the camera is awake"
        ),
        ("wake_failed", ""): KnownMessage(
            "9c2000da08ac485daecfff652e886e30", "wake", _DEVICE + "the camera did not wake: {reason} ({code})"
        ),
        ("wake_failed", "not-paired"): KnownMessage(
            "77fc28da87cc47fcbf213c545df1457b", "wake", _DEVICE + "the camera did not wake: {reason} ({code})"
        ),
        ("asleep", ""): KnownMessage(
            "cbec0300596f453686bef8864411d32e", "sleep", _DEVICE + "the camera is asleep"
        ),
        ("sleep_failed", ""): KnownMessage(
            "5a492e7d23174dd481d610cd9ea8294a",
            "sleep",
            _DEVICE + "the camera was not put to sleep: {reason} ({code})",
        ),
        ("paired", ""): KnownMessage(
            "09f91a299004456ea86c161c962e38ea",
            "pair",
            _DEVICE + "the camera {address} is paired with this hub",
        ),
        ("unpaired", ""): KnownMessage(
            "d9561152918d44f294c1cf4ed8d2be06",
            "pair",
            _DEVICE + "the camera is no longer paired with this hub",
        ),
        ("pair_failed", ""): KnownMessage(
            "c8fa7a941f9945288ea0616e9ec8c9f6",
            "pair",
            _DEVICE + "the camera was not paired: {reason} ({code})",
        ),
        ("bluetooth_changed", "ready"): KnownMessage(
            "f67bea77bcfa496384ad6451b4ec1247", "bluetooth", "Bluetooth is ready"
        ),
        ("bluetooth_changed", ""): KnownMessage(
            "ef66925dd4d942d99d92cd828cb35b37", "bluetooth", "Bluetooth is {state}: {reason}"
        ),
        ("recording_started", ""): KnownMessage(
            "4f0b7a6c1d2e4c8f9a35b86de07c9121", "recording", _DEVICE + "the camera records"
        ),
        ("recording_stopped", ""): KnownMessage(
            "a87d3f52c60b4ee19f24d7015cb83e60", "recording", _DEVICE + "{reason} ({code})"
        ),
        ("recording_failed", ""): KnownMessage(
            "3c92e1b8f7d64a05b1687e4ad95f20c3",
            "recording",
            _DEVICE + "the camera did not do what it was told: {reason} ({code})",
        ),
        ("camera_problem", ""): KnownMessage(
            "e60d94c7235b4f1f8c7aa2390e51bd84", "camera", _DEVICE + "{reason} ({code})"
        ),
        ("camera_problem", "not-recording"): KnownMessage(
            "b15f28e09c7a4d63a48d03e6f1c7925b", "camera", _DEVICE + "{reason} ({code})"
        ),
        ("camera_problem_over", ""): KnownMessage(
            "72ea4d0b96f34c5d9e108c5b3a6df714", "camera", _DEVICE + "no longer: {code}"
        ),
        ("clock_set", ""): KnownMessage(
            "0d3b6ef4a9c84172b5e9f60837d2c4a8", "clock", _DEVICE + "the camera's clock was set"
        ),
        ("hub_id_taken", ""): KnownMessage("d41b7c9ea05f4b6c8e13f7d290ab6c58", "broker", "{reason}"),
        ("not_authorized", ""): KnownMessage(
            "087b4de3c5fa4961b2d09f8ea6713c11", "authorize", "user {uid} was denied {member}: {action}"
        ),
    }
)
"""By the event's name and, where the cause decides what to do, its `code` or `state`."""


def known_message(event: Mapping[str, object]) -> KnownMessage | None:
    """The message for an event that has every field in the message's text; None for other events."""
    name = str(event.get("event", ""))
    cause = str(event.get("code") or event.get("state") or "")
    message = MESSAGES.get((name, cause)) or MESSAGES.get((name, ""))
    if message is None:
        return None
    try:
        message.text.format_map(event)
    except KeyError:
        return None  # another event with the same name, from a lower layer
    return message
