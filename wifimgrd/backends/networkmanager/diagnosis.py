"""From what NetworkManager and wpa_supplicant say to the error a person can act upon. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from wifimgrd.backends.networkmanager.defs import (
    DeviceReason,
    DeviceState,
    ReasonCode,
    StatusCode,
    SupplicantState,
)
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import (
    AddressFailed,
    AssociationRefused,
    AuthenticationFailed,
    BackendUnavailable,
    ConnectionLost,
    DeviceNotReachable,
    InterfaceLost,
    WifimgrdError,
)

_SAE_PASSWORD_WRONG: Final = (StatusCode.UNSPECIFIED_FAILURE, StatusCode.CHALLENGE_FAILURE)
_STILL_NEGOTIATING: Final = (
    StatusCode.SUCCESS,
    StatusCode.TRY_LATER,
    StatusCode.INVALID_PMKID,
    StatusCode.ANTI_CLOGGING_TOKEN,
    StatusCode.GROUP_UNSUPPORTED,
    StatusCode.HASH_TO_ELEMENT,
)
"""Answers after which the supplicant goes on by itself, differently."""

_LEFT: Final = (ReasonCode.DEAUTH_LEAVING, ReasonCode.DISASSOC_LEAVING)
_HANDSHAKE_FAILED: Final = (
    ReasonCode.PREVIOUS_AUTH_NOT_VALID,
    ReasonCode.MIC_FAILURE,
    ReasonCode.FOUR_WAY_TIMEOUT,
    ReasonCode.IEEE_802_1X_FAILED,
)
_DOWN: Final = (
    SupplicantState.DISCONNECTED,
    SupplicantState.INACTIVE,
    SupplicantState.DISABLED,
    SupplicantState.SCANNING,
)


def is_down(state: str) -> bool:
    """Whether a supplicant's state means: no access point. Rekeying and roaming do not."""
    return state in _DOWN


def not_seen(ssid: Ssid) -> DeviceNotReachable:
    """A finished scan did not show the network."""
    return DeviceNotReachable(
        f'the network "{ssid.printable}" is not on the air: the camera may be switched off or out of range'
    )


def wrong_password(ssid: Ssid) -> AuthenticationFailed:
    """The access point did not accept the passphrase."""
    return AuthenticationFailed(f'the network "{ssid.printable}" refused the password')


def refused(ssid: Ssid, code: int) -> AssociationRefused:
    """The access point answered, and the answer was no; `code` from IEEE 802.11's tables."""
    if code in (StatusCode.NO_MORE_STATIONS, ReasonCode.NO_MORE_STATIONS):
        cause = "it takes no further connection, another phone or host may hold it"
    else:
        cause = f"another phone or host may hold it, or it only admits known ones (code {code})"
    return AssociationRefused(f'the camera of "{ssid.printable}" refused the connection: {cause}')


@dataclass(slots=True)
class Witness:
    """What wpa_supplicant says while one attempt runs, read for a verdict."""

    ssid: Ssid
    sae: bool
    """The access point is one for which the supplicant uses SAE."""
    protected: bool
    """The attempt has a passphrase."""
    state: str = SupplicantState.DISCONNECTED.value
    furthest: str = SupplicantState.DISCONNECTED.value
    """The last state on the way up, before it fell."""

    @property
    def tried(self) -> bool:
        """Whether the supplicant began to join the access point."""
        return not is_down(self.furthest)

    def hear(self, changed: Mapping[str, Any]) -> WifimgrdError | None:
        """Take one PropertiesChanged in; returns the verdict where it holds one.

        The supplicant gathers changes for some milliseconds, so that a state can be missing and
        its cause can come together with the state that follows.
        """
        verdict = self._on_status(changed) or self._on_reason(changed.get("DisconnectReason", 0))
        state = changed.get("State")
        if state is not None:
            self.state = state
            if not is_down(state):
                self.furthest = state
        return verdict

    def _on_status(self, changed: Mapping[str, Any]) -> WifimgrdError | None:
        code = changed.get("AuthStatusCode", 0)
        if code not in _STILL_NEGOTIATING:
            if self.sae and code in _SAE_PASSWORD_WRONG:
                return wrong_password(self.ssid)
            return refused(self.ssid, code)
        code = changed.get("AssocStatusCode", 0)
        return None if code in _STILL_NEGOTIATING else refused(self.ssid, code)

    def _on_reason(self, reason: int) -> WifimgrdError | None:
        if reason <= 0 or reason in _LEFT:
            return None  # ended on this side, or switched off: the next scan tells
        if reason == ReasonCode.NO_MORE_STATIONS:
            return refused(self.ssid, reason)
        in_handshake = self.furthest in (SupplicantState.FOUR_WAY, SupplicantState.GROUP)
        if self.protected and (reason in _HANDSHAKE_FAILED or in_handshake):
            return wrong_password(self.ssid)
        return None

    def at_deadline(self, device_state: int, *, heard: bool) -> WifimgrdError:
        """The best that can be said when the time is over, by how far the attempt came, and whether a scan
        has shown the network since it began."""
        if device_state in (DeviceState.IP_CONFIG, DeviceState.IP_CHECK, DeviceState.SECONDARIES):
            return no_address(self.ssid)
        if self.protected and self.state == SupplicantState.FOUR_WAY:
            return wrong_password(self.ssid)
        return kept_away(self.ssid) if heard and not self.tried else no_answer(self.ssid)


def no_address(ssid: Ssid) -> AddressFailed:
    """Associated, but DHCP did not answer."""
    return AddressFailed(f'the camera of "{ssid.printable}" gave no IP address; restarting it may help')


def no_answer(ssid: Ssid) -> DeviceNotReachable:
    """On the air, but it did not answer."""
    return DeviceNotReachable(
        f'the network "{ssid.printable}" was seen, but did not answer: the camera may be out of range'
    )


def kept_away(ssid: Ssid) -> AssociationRefused:
    """On the air, but the supplicant does not try it: an access point that refuses for a weak signal can
    say for how long to keep away (Wi-Fi Optimized Connectivity Experience)."""
    return AssociationRefused(
        f'the network "{ssid.printable}" is on the air, but wpa_supplicant does not join it: the camera may '
        "have refused a moment ago and told it to keep away"
    )


def attempt_failed(reason: int, ssid: Ssid, interface: str) -> WifimgrdError:
    """Why NetworkManager gave an attempt up, by the device's reason."""
    match reason:
        case DeviceReason.NO_SECRETS | DeviceReason.SUPPLICANT_DISCONNECT:
            return wrong_password(ssid)
        case (
            DeviceReason.IP_CONFIG_UNAVAILABLE
            | DeviceReason.IP_CONFIG_EXPIRED
            | DeviceReason.DHCP_START_FAILED
            | DeviceReason.DHCP_ERROR
            | DeviceReason.DHCP_FAILED
        ):
            return no_address(ssid)
        case DeviceReason.SSID_NOT_FOUND:
            return not_seen(ssid)
        case DeviceReason.SUPPLICANT_TIMEOUT:
            return no_answer(ssid)
        case DeviceReason.NOW_UNMANAGED:
            return InterfaceLost(f"NetworkManager does not manage {interface} any more")
        case DeviceReason.USER_REQUESTED | DeviceReason.NEW_ACTIVATION | DeviceReason.CONNECTION_REMOVED:
            return InterfaceLost(f"another program took {interface} from NetworkManager")
        case DeviceReason.SUPPLICANT_FAILED | DeviceReason.SUPPLICANT_CONFIG_FAILED:
            return BackendUnavailable("wpa_supplicant stopped during the attempt")
        case DeviceReason.SLEEPING:
            return BackendUnavailable("NetworkManager was told to switch networking off")
    return BackendUnavailable(f"NetworkManager could not set {interface} up (reason {reason})")


def adapter_gone(interface: str) -> InterfaceLost:
    """The interface vanished."""
    return InterfaceLost(f"the adapter {interface} was pulled out")


def device_gone(interface: str, pulled_out: bool) -> WifimgrdError:
    """NetworkManager has the device no more, while an attempt runs on it."""
    if pulled_out:
        return adapter_gone(interface)
    return BackendUnavailable(f"NetworkManager let go of the adapter {interface}")


def interrupted(ssid: Ssid, disconnect_reason: int) -> ConnectionLost:
    """A link that was up dropped, with the supplicant's reason (0 = it gave none)."""
    if disconnect_reason in _LEFT:
        return ConnectionLost(
            f'the camera of "{ssid.printable}" ended the connection: it may have switched off'
        )
    if disconnect_reason < 0:
        return ConnectionLost(f'the camera of "{ssid.printable}" fell silent: out of range, or without power')
    return ConnectionLost(f'the connection to "{ssid.printable}" dropped')


def not_renewed(ssid: Ssid) -> ConnectionLost:
    """The address of a link that is up has run out."""
    return ConnectionLost(f'the camera of "{ssid.printable}" did not renew the IP address')


def link_ended(device_reason: int, ssid: Ssid, interface: str) -> WifimgrdError:
    """Why NetworkManager let go of a link that was up, by the device's reason."""
    match device_reason:
        case DeviceReason.USER_REQUESTED | DeviceReason.NEW_ACTIVATION | DeviceReason.CONNECTION_REMOVED:
            return ConnectionLost(f'the connection to "{ssid.printable}" was ended by another program')
        case DeviceReason.IP_CONFIG_EXPIRED | DeviceReason.IP_CONFIG_UNAVAILABLE:
            return not_renewed(ssid)
        case DeviceReason.SUPPLICANT_FAILED:
            return ConnectionLost(f'the connection to "{ssid.printable}" dropped: wpa_supplicant stopped')
        case DeviceReason.SLEEPING | DeviceReason.NOW_UNMANAGED:
            return ConnectionLost(
                f'the connection to "{ssid.printable}" dropped: NetworkManager let {interface} go'
            )
    return ConnectionLost(f'the connection to "{ssid.printable}" was lost')
