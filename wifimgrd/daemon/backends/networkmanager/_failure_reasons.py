"""Map NetworkManager's states and reasons to errors that a user can act on. Pure functions."""

from __future__ import annotations

from typing import Final

from wifimgrd.daemon.backends.supplicant import diagnosis
from wifimgrd.daemon.backends.supplicant.diagnosis import SupplicantDiagnosis
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import BackendUnavailable, ConnectionLost, InterfaceLost, WifimgrdError
from wifimgrd.domain.interface import taken, unplugged
from wifimgrd.proxies.networkmanager.definitions import DeviceReason, DeviceState

_OTHER_CONNECTION: Final = "NetworkManager was asked to make another connection with it"


def at_deadline(supplicant: SupplicantDiagnosis, device_state: int, *, visible: bool) -> WifimgrdError:
    """The most likely cause at the deadline; `visible` as in `SupplicantDiagnosis.at_deadline`."""
    if device_state in (DeviceState.IP_CONFIG, DeviceState.IP_CHECK, DeviceState.SECONDARIES):
        return diagnosis.no_address(supplicant.ssid)
    return supplicant.at_deadline(visible=visible)


def attempt_failed(reason: int, supplicant: SupplicantDiagnosis, interface: str) -> WifimgrdError:
    """Why NetworkManager ended an attempt, by the device's reason."""
    match reason:
        case DeviceReason.NO_SECRETS | DeviceReason.SUPPLICANT_DISCONNECT:
            return supplicant.handshake_failed()
        case (
            DeviceReason.IP_CONFIG_UNAVAILABLE
            | DeviceReason.IP_CONFIG_EXPIRED
            | DeviceReason.DHCP_START_FAILED
            | DeviceReason.DHCP_ERROR
            | DeviceReason.DHCP_FAILED
        ):
            return diagnosis.no_address(supplicant.ssid)
        case DeviceReason.SSID_NOT_FOUND:
            return diagnosis.not_seen(supplicant.ssid)
        case DeviceReason.SUPPLICANT_TIMEOUT:
            return diagnosis.no_answer(supplicant.ssid)
        case DeviceReason.NOW_UNMANAGED:
            return InterfaceLost(f"NetworkManager no longer manages the adapter {interface}")
        case DeviceReason.NEW_ACTIVATION:
            return taken(interface, _OTHER_CONNECTION)
        case DeviceReason.USER_REQUESTED | DeviceReason.CONNECTION_REMOVED:
            return taken(interface, "NetworkManager was asked to disconnect it")
        case DeviceReason.SUPPLICANT_FAILED | DeviceReason.SUPPLICANT_CONFIG_FAILED:
            return BackendUnavailable("wpa_supplicant stopped during the attempt")
        case DeviceReason.SLEEPING:
            return BackendUnavailable("NetworkManager has disabled networking")
    return BackendUnavailable(f"NetworkManager could not set {interface} up (reason {reason})")


def no_device(interface: str) -> InterfaceLost:
    """NetworkManager does not know an adapter that is to be used."""
    return InterfaceLost(f"NetworkManager has no device for the adapter {interface}")


def device_gone(interface: str, *, is_unplugged: bool) -> WifimgrdError:
    """NetworkManager removed the device while an attempt ran on it."""
    if is_unplugged:
        return unplugged(interface)
    return BackendUnavailable(f"NetworkManager dropped the adapter {interface}")


def link_ended(device_reason: int, ssid: Ssid, interface: str) -> WifimgrdError:
    """Why NetworkManager ended a link that was up, by the device's reason."""
    match device_reason:
        case DeviceReason.NEW_ACTIVATION:
            return taken(interface, _OTHER_CONNECTION)
        case DeviceReason.USER_REQUESTED | DeviceReason.CONNECTION_REMOVED:
            return ConnectionLost(f'the connection to "{ssid.printable}" was ended by another program')
        case DeviceReason.IP_CONFIG_EXPIRED | DeviceReason.IP_CONFIG_UNAVAILABLE:
            return diagnosis.not_renewed(ssid)
        case DeviceReason.SUPPLICANT_FAILED:
            return ConnectionLost(f'the connection to "{ssid.printable}" dropped: wpa_supplicant stopped')
        case DeviceReason.SLEEPING | DeviceReason.NOW_UNMANAGED:
            return ConnectionLost(
                f'the connection to "{ssid.printable}" dropped: NetworkManager let {interface} go'
            )
    return ConnectionLost(f'the connection to "{ssid.printable}" was lost')
