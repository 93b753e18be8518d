"""Map wpa_supplicant's states and codes to errors that a user can act on. Pure functions.

Both backends with real adapters use this, also for addresses and adapters. NetworkManager's own reasons are
in `networkmanager/_failure_reasons.py`; errors that only the wpa_supplicant backend has are in those of its
modules that raise them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import (
    AddressFailed,
    AssociationRefused,
    AuthenticationFailed,
    ConnectionLost,
    DeviceNotReachable,
    WifimgrdError,
)
from wifimgrd.kernel.nl80211 import HandshakeReply
from wifimgrd.proxies.wpa_supplicant.definitions import (
    InterfaceProperties,
    ReasonCode,
    StatusCode,
    SupplicantState,
)

_REJECTED: Final = 2
"""So many replies have arrived and were not accepted."""
_CONSIDERED_S: Final = 0.8
"""How long before the next message 1 each has arrived. hostapd repeats it after 0.1 s, then once a second; a
station that is late replies to several at once."""


@dataclass(slots=True)
class Replies:
    """The replies of one station to message 1."""

    are_reported: bool = False
    """The driver reports what becomes of them."""
    were_ignored: bool = False
    """One that has arrived was followed by another message 1, a while later."""
    arrived_s: list[float] = field(default_factory=list)
    """When the first ones that were acknowledged did: a camera may ask as often as it likes."""
    _counter: int = -1

    def add(self, reply: HandshakeReply, now_s: float) -> bool:
        """Process a reply that was sent; whether the access point has rejected those before it."""
        self.are_reported = True
        if reply.counter <= self._counter:  # with a new association it counts anew; or it is the same again
            self.arrived_s.clear()
        self._counter = reply.counter
        considered = [arrived_s for arrived_s in self.arrived_s if now_s - arrived_s >= _CONSIDERED_S]
        self.were_ignored = bool(considered)
        if reply.is_acknowledged and len(self.arrived_s) < _REJECTED:
            self.arrived_s.append(now_s)
        return len(considered) >= _REJECTED


_SAE_PASSWORD_WRONG: Final = (StatusCode.UNSPECIFIED_FAILURE, StatusCode.CHALLENGE_FAILURE)
_STILL_NEGOTIATING: Final = (
    StatusCode.SUCCESS,
    StatusCode.TRY_LATER,
    StatusCode.INVALID_PMKID,
    StatusCode.ANTI_CLOGGING_TOKEN,
    StatusCode.GROUP_UNSUPPORTED,
    StatusCode.HASH_TO_ELEMENT,
)
"""Status codes after which the supplicant continues the authentication by itself, in another way."""

_LEFT: Final = (ReasonCode.DEAUTH_LEAVING, ReasonCode.DISASSOC_LEAVING)
_HANDSHAKE_FAILED: Final = (
    ReasonCode.PREVIOUS_AUTH_NOT_VALID,
    ReasonCode.MIC_FAILURE,
    ReasonCode.FOUR_WAY_TIMEOUT,
    ReasonCode.IEEE_802_1X_FAILED,
)
"""By these an access point rejects the passphrase, whatever states were reported; in the handshake some do by
UNSPECIFIED."""
_ENDED_BY_STATION: Final = -ReasonCode.DEAUTH_LEAVING
"""After 10 s in which message 1 was repeated."""
_TIMED_OUT: Final = (0, _ENDED_BY_STATION, ReasonCode.FOUR_WAY_TIMEOUT)
"""It has waited in vain: for a reply that it accepts, or for any."""
_SECURITY_REJECTED: Final = (
    ReasonCode.ELEMENT_INVALID,
    ReasonCode.IE_DIFFERENT,
    ReasonCode.GROUP_CIPHER_INVALID,
    ReasonCode.PAIRWISE_CIPHER_INVALID,
    ReasonCode.AKM_INVALID,
    ReasonCode.RSN_VERSION_UNSUPPORTED,
    ReasonCode.RSN_CAPABILITIES_INVALID,
    ReasonCode.CIPHER_REJECTED,
)
"""By these it rejects something else that the station has offered in the handshake."""
_BEGINNING: Final = (SupplicantState.AUTHENTICATING, SupplicantState.ASSOCIATING)
_BEFORE_HANDSHAKE: Final = (SupplicantState.ASSOCIATING, SupplicantState.ASSOCIATED)
"""As far as a station comes that receives no message 1."""
_AFTER_SAE: Final = (SupplicantState.ASSOCIATING, SupplicantState.ASSOCIATED, SupplicantState.FOUR_WAY)
_DOWN: Final = (
    SupplicantState.DISCONNECTED,
    SupplicantState.INACTIVE,
    SupplicantState.DISABLED,
    SupplicantState.SCANNING,
)


class HandshakeLost(DeviceNotReachable):
    """The handshake ended, and the passphrase is not proven to be the reason: another one may succeed."""


def is_down(state: str) -> bool:
    """Whether the supplicant is not associated in this state; rekeying and roaming count as associated."""
    return state in _DOWN


def not_seen(ssid: Ssid) -> DeviceNotReachable:
    """A finished scan did not show the network."""
    return DeviceNotReachable(
        f'the network "{ssid.printable}" was not found: the camera may be switched off or out of range'
    )


def only_others(ssid: Ssid, points: str) -> DeviceNotReachable:
    """A finished scan showed the network only at access points that are not this device's; `points` describes
    them."""
    return DeviceNotReachable(
        f'the network "{ssid.printable}" is in range, but not at this device\'s camera, which may be '
        f"switched off or out of range: {points}"
    )


def wrong_password(ssid: Ssid) -> AuthenticationFailed:
    """The access point did not accept the passphrase."""
    return AuthenticationFailed(f'the network "{ssid.printable}" refused the password')


def refused(ssid: Ssid, code: int) -> AssociationRefused:
    """The access point refused the station; `code` is a status or reason code of IEEE 802.11."""
    if code in (StatusCode.NO_MORE_STATIONS, ReasonCode.NO_MORE_STATIONS):
        cause = "it accepts no more connections; another phone or host may be connected"
    else:
        cause = f"another phone or host may be connected, or it accepts only known ones (code {code})"
    return AssociationRefused(f'the camera of "{ssid.printable}" refused the connection: {cause}')


@dataclass(slots=True)
class SupplicantDiagnosis:
    """Derives the cause of a failure from wpa_supplicant's properties during one attempt."""

    ssid: Ssid
    sae: bool
    """The supplicant uses SAE for the access point, where the adapter supports that."""
    protected: bool
    """The attempt has a passphrase."""
    state: str = SupplicantState.DISCONNECTED.value
    furthest: str = SupplicantState.DISCONNECTED.value
    """The last state that was not down: how far the join came."""
    joined_before: bool = False
    """The network was joined before, most likely with this passphrase."""
    sae_only: bool = False
    """The access point offers nothing but SAE, which proves the passphrase before the association."""
    completed: bool = False
    """The association was complete."""
    keyed: bool = False
    """The access point has sent message 3 of 4, which proves the passphrase; it still stays proven."""
    sae_accepted: bool = False
    """The access point has accepted the passphrase by SAE."""
    reason: int = 0
    """The DisconnectReason since the association was begun; 0 = there is none."""
    replies: Replies = field(default_factory=Replies)
    """Those in the handshake."""

    @property
    def handshake_repeated(self) -> bool:
        """The access point has begun the handshake again, and it is not over."""
        return self.keyed and self.state == SupplicantState.FOUR_WAY

    @property
    def tried(self) -> bool:
        """Whether the supplicant began to join the access point."""
        return not is_down(self.furthest)

    def properties_changed(self, changed: InterfaceProperties) -> WifimgrdError | None:
        """Process one PropertiesChanged; returns the cause of the failure where it contains one.

        The supplicant collects changes for some milliseconds before it emits them, so a state can be
        missing, and its reason can arrive together with the next state.
        """
        verdict = self._on_status(changed) or self._on_reason(changed.get("DisconnectReason", 0))
        state = changed.get("State")
        if state is not None:
            self.state = state
            self.completed = self.completed or state == SupplicantState.COMPLETED
            self.keyed = self.keyed or state in (SupplicantState.GROUP, SupplicantState.COMPLETED)
            self.sae_accepted = self.sae_accepted or (self.sae_only and state in _AFTER_SAE)
            if not is_down(state):
                self.furthest = state
            if state in _BEGINNING:
                self.reason = 0
        return verdict

    def _on_status(self, changed: InterfaceProperties) -> WifimgrdError | None:
        code = changed.get("AuthStatusCode", 0)
        if code not in _STILL_NEGOTIATING:
            if self.sae and code in _SAE_PASSWORD_WRONG:
                return wrong_password(self.ssid)
            return refused(self.ssid, code)
        code = changed.get("AssocStatusCode", 0)
        return None if code in _STILL_NEGOTIATING else refused(self.ssid, code)

    def _on_reason(self, reason: int) -> WifimgrdError | None:
        self.reason = reason or self.reason
        if reason <= 0 or reason in _LEFT:
            return None  # ended by the station, or the camera was switched off: the next scan shows which
        if reason == ReasonCode.NO_MORE_STATIONS:
            return refused(self.ssid, reason)
        if not self.protected:
            return None
        self.keyed = self.keyed or reason == ReasonCode.GROUP_KEY_TIMEOUT
        in_handshake = self.furthest in (SupplicantState.FOUR_WAY, SupplicantState.GROUP)
        if in_handshake and reason in _SECURITY_REJECTED:
            return refused(self.ssid, reason)
        if in_handshake or reason in _HANDSHAKE_FAILED or reason == ReasonCode.GROUP_KEY_TIMEOUT:
            return self.handshake_failed()
        return None

    def reply_sent(self, reply: HandshakeReply, now_s: float) -> WifimgrdError | None:
        """Process a reply in the handshake, sent at this time of any clock in seconds; returns the cause of
        the failure where the access point ignores those that it has received. If its network was joined
        before, it is left to end the handshake: some drivers report all replies as acknowledged."""
        is_rejected = self.replies.add(reply, now_s) and not self.joined_before
        return self.handshake_failed() if is_rejected and self.state == SupplicantState.FOUR_WAY else None

    def handshake_failed(self) -> WifimgrdError:
        """Why the handshake ended: as a rule the passphrase is wrong. It is not where it is proven, as where
        the access point repeats a message and does not accept the encrypted reply to it, and where the access
        point has left or has forgotten the station. Where it has waited in vain, what it or the station has
        sent may have been lost."""
        rejected = self.reason in (*_TIMED_OUT, ReasonCode.UNSPECIFIED, *_HANDSHAKE_FAILED)
        if self.reason in _TIMED_OUT and self.replies.are_reported:
            rejected = self.replies.were_ignored
        elif self.reason == ReasonCode.FOUR_WAY_TIMEOUT:
            rejected = self.furthest not in _BEFORE_HANDSHAKE
        if rejected and not (self.keyed or self.sae_accepted):
            return wrong_password(self.ssid)
        return HandshakeLost(no_answer(self.ssid).message)

    def at_deadline(self, *, visible: bool) -> WifimgrdError:
        """The most likely cause at the deadline, by how far the attempt came; `visible` is whether a scan
        has found the network since it began."""
        if self.protected and self.state == SupplicantState.FOUR_WAY:
            return self.handshake_failed()
        return ignored_bss(self.ssid) if visible and not self.tried else no_answer(self.ssid)


def no_address(ssid: Ssid) -> AddressFailed:
    """Associated, but DHCP did not answer."""
    return AddressFailed(f'the camera of "{ssid.printable}" assigned no IP address; restarting it may help')


def unusable_address(ssid: Ssid, obstacle: str) -> AddressFailed:
    """The camera gave an address that this host cannot use; `obstacle` is of `domain.leases`."""
    return AddressFailed(f'the camera of "{ssid.printable}" gave the address {obstacle}')


def no_answer(ssid: Ssid) -> DeviceNotReachable:
    """The network is in the scan results, but it did not answer."""
    return DeviceNotReachable(
        f'the network "{ssid.printable}" was seen, but did not answer: the camera may be out of range'
    )


def unsupported(ssid: Ssid, interface: str, kind: str) -> AssociationRefused:
    """The adapter cannot join a network of this kind of security."""
    return AssociationRefused(
        f'the adapter {interface} cannot join the network "{ssid.printable}": its driver or wpa_supplicant '
        f"does not support {kind}"
    )


def ignored_bss(ssid: Ssid) -> AssociationRefused:
    """The network is in the scan results, but the supplicant does not try to join it. It does not say why:
    an access point can demand what the supplicant or the driver does not offer; and one that has refused a
    station for its weak signal can set a retry delay (Wi-Fi Optimized Connectivity Experience)."""
    return AssociationRefused(
        f'the network "{ssid.printable}" is in range, but wpa_supplicant does not join it: the camera '
        "demands what the adapter or wpa_supplicant does not offer, or has told it to keep away for a while"
    )


def interrupted(ssid: Ssid, disconnect_reason: int) -> ConnectionLost:
    """A link that was up dropped, with the supplicant's reason (0 = it gave none)."""
    if disconnect_reason in _LEFT:
        return ConnectionLost(
            f'the camera of "{ssid.printable}" ended the connection: it may have switched off'
        )
    if disconnect_reason < 0:
        return ConnectionLost(
            f'the camera of "{ssid.printable}" stopped responding: it is out of range or without power'
        )
    return ConnectionLost(f'the connection to "{ssid.printable}" dropped')


def not_renewed(ssid: Ssid) -> ConnectionLost:
    """The lease of a link that is up has expired."""
    return ConnectionLost(f'the camera of "{ssid.printable}" did not renew the IP address')
