"""What a camera's access point is like, and hostapd's configuration for it.

Options: hostapd 2.10, hostapd/hostapd.conf.
"""

from dataclasses import dataclass
from typing import Literal

Security = Literal["wpa2", "sae", "sae-mixed", "open", "owe", "owe-transition"]

# How a password becomes an element of the group with SAE; the access point refuses the other way.
Mechanism = Literal["loop", "hash-to-element", "both"]
_MECHANISMS: dict[Mechanism, str] = {"loop": "0", "hash-to-element": "1", "both": "2"}
TWIN, BRIDGE = "ap1", "br0"  # of OWE transition mode: the encrypted network, and what joins both

# How an access point turns stations away, by what the station is sent:
# "full"        status 17 (AP_UNABLE_TO_HANDLE_NEW_STA) on its authentication: the usual one-client camera
# "weak-signal" status 34 (DENIED_POOR_CHANNEL_CONDITIONS) on its association
# "not-listed"  status 1 (UNSPECIFIED_FAILURE) on its authentication: an access list
Refusal = Literal["full", "weak-signal", "not-listed"]

_REFUSING: dict[Refusal, tuple[str, str]] = {
    "full": ("max_num_sta", "0"),
    "weak-signal": ("rssi_reject_assoc_rssi", "-1"),  # dBm; hwsim's radios receive each other at -30
    "not-listed": ("macaddr_acl", "1"),
}
_ADMITTING: dict[Refusal, tuple[str, str]] = {
    "full": ("max_num_sta", "2007"),
    "weak-signal": ("rssi_reject_assoc_rssi", "0"),
    "not-listed": ("macaddr_acl", "0"),
}


@dataclass(frozen=True)
class Network:
    """An access point's network, as hostapd offers it."""

    ssid: bytes
    password: str = ""  # none for an open network, encrypted (OWE) or not
    security: Security = "wpa2"
    channel: int = 1  # 1-13: 2.4 GHz; from 36 on: 5 GHz
    hidden: bool = False  # the beacons carry no SSID; only a probe for the right one is answered
    country: str | None = None  # changes the regulatory domain of the whole guest; channels 36-48 need one
    repeats_message_3: bool = False  # of the 4-way handshake
    mechanism: Mechanism = "both"
    tries: int = 4  # how often message 1 of the handshake is sent, four times within four seconds

    def configuration(
        self, interface: str, control: str, refusal: Refusal | None, twin_bssid: str = ""
    ) -> str:
        """Write hostapd's configuration file; `twin_bssid` is of the encrypted twin of an open network."""
        options = {
            "interface": interface, "driver": "nl80211", "ctrl_interface": control,
            "ssid2": self.ssid.hex(), "ignore_broadcast_ssid": "1" if self.hidden else "0",
            "hw_mode": "g" if self.channel < 36 else "a", "channel": str(self.channel),
            "ieee80211n": "1", "wmm_enabled": "1", "beacon_int": "100",
            "rssi_reject_assoc_timeout": "0",  # s; for so long a station keeps away after "weak-signal"
        }  # fmt: skip
        if self.country:
            options["country_code"] = self.country
        options |= self._security_options()
        if refusal:
            options |= dict([_REFUSING[refusal]])
        if self.security != "owe-transition":
            return _lines(options)
        options |= {"bridge": BRIDGE, "owe_transition_ifname": TWIN}
        twin = {
            "bss": TWIN, "bssid": twin_bssid, "ctrl_interface": control, "bridge": BRIDGE,
            "ssid2": self.ssid[:27].hex() + b"_twin".hex(), "ignore_broadcast_ssid": "1", "wpa": "2",
            "wpa_key_mgmt": "OWE", "rsn_pairwise": "CCMP", "ieee80211w": "2",
            "owe_transition_ifname": interface,
        }  # fmt: skip
        return _lines(options) + _lines(twin)

    def _security_options(self) -> dict[str, str]:
        if self.security in ("open", "owe-transition"):
            return {}
        # On a machine with more to do than it can, hostapd repeats message 3/4 of a handshake that the
        # station has done already; the answer, now encrypted, is lost on it: deauthentication for reason 15,
        # as if by a wrong password. The lab's radios lose nothing, so nothing need be repeated.
        options = {"wpa": "2", "rsn_pairwise": "CCMP"}
        options["wpa_disable_eapol_key_retries"] = "0" if self.repeats_message_3 else "1"
        options["wpa_pairwise_update_count"] = str(self.tries)
        if self.security in ("wpa2", "sae-mixed"):
            options["wpa_passphrase"] = self.password
        if self.security in ("sae", "sae-mixed"):
            options |= {"sae_password": self.password, "sae_pwe": _MECHANISMS[self.mechanism]}
        match self.security:
            case "wpa2":
                return options | {"wpa_key_mgmt": "WPA-PSK"}
            case "sae":
                return options | {"wpa_key_mgmt": "SAE", "ieee80211w": "2"}
            case "sae-mixed":
                return options | {"wpa_key_mgmt": "SAE WPA-PSK", "ieee80211w": "1"}
            case _:
                return options | {"wpa_key_mgmt": "OWE", "ieee80211w": "2"}


def _lines(options: dict[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in options.items())


def refusing(refusal: Refusal) -> tuple[str, str]:
    """Name the option, and its value, that turns stations away."""
    return _REFUSING[refusal]


def admitting(refusal: Refusal) -> tuple[str, str]:
    """Name the option, and its value, that ends a refusal."""
    return _ADMITTING[refusal]
