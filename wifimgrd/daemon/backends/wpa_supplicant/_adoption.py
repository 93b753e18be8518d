"""Find the links in wpa_supplicant that an earlier run of the daemon started, by their networks' settings:
https://w1.fi/cgit/hostap/plain/wpa_supplicant/wpa_supplicant.conf"""

from __future__ import annotations

import contextlib

import structlog

from wifimgrd.daemon.backends.supplicant.lease_check import LeaseCheck
from wifimgrd.daemon.backends.wpa_supplicant._attempt import Joined
from wifimgrd.daemon.backends.wpa_supplicant._inventory import WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._link_address import (
    LinkAddress,
    LinkReading,
    NotOurs,
    read_address,
)
from wifimgrd.daemon.backends.wpa_supplicant._link_monitor import LinkMonitor
from wifimgrd.daemon.backends.wpa_supplicant._services import Services
from wifimgrd.domain.device import DeviceId, HeldLink, Ssid
from wifimgrd.proxies.wpa_supplicant.definitions import NETWORK_MARK, NetworkSettings, SupplicantState
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger(__name__)


async def adopt(
    services: Services, interface: WifiInterface, tasks: Tasks, check: LeaseCheck
) -> LinkMonitor | None:
    """Return a monitor for this daemon's link on an interface that it has registered, if one is up; whatever
    else is configured there is removed. Raises the errors of Services.open_interface."""
    supplicant = await services.open_interface(interface)
    with contextlib.ExitStack() as unless_adopted:
        unless_adopted.callback(supplicant.close)
        await supplicant.subscribe()
        state = await supplicant.state()
        settings = await supplicant.current_settings()
        device_id = marked_device(settings)
        not_ours = ""
        try:
            address = await read_address(services.connection, interface)
        except NotOurs as error:
            address, not_ours = None, error.message
        if device_id is None or state != SupplicantState.COMPLETED or not isinstance(address, LinkAddress):
            await services.disconnect(supplicant)
            if not_ours:
                _log.warning("address_refused", interface=interface.name, reason=not_ours)
                await services.refuse_address(interface.name, not_ours)
            if device_id is not None:
                _log.info("leftover_removed", interface=interface.name, device=device_id)
            return None
        point = await supplicant.read_bss(await supplicant.current_bss())
        reading = LinkReading.of(
            address, point.sighting if point else None, point.link_percent if point else 0
        )
        interface.reserved = True
        held = HeldLink(device_id, interface.name, ssid_of(settings), reading.link)
        joined = Joined(interface, supplicant, reading, bssid_of(settings))
        monitor = LinkMonitor(services, held, joined, tasks.part(interface.name), check.require_usable)
        _log.info("link_adopted", interface=interface.name, device=device_id)
        unless_adopted.pop_all()
        return monitor


def marked_device(settings: NetworkSettings) -> DeviceId | None:
    """The id of the device that a network is for; None where the network is not this daemon's."""
    mark = settings.get("id_str", "").strip('"')
    number = mark.removeprefix(NETWORK_MARK)
    is_ours = number != mark and number.isascii() and number.isdigit() and int(number) > 0
    return DeviceId(int(number)) if is_ours else None


def ssid_of(settings: NetworkSettings) -> Ssid:
    """The SSID of a network, which wpa_supplicant quotes where it is printable, and else has as digits."""
    text = settings.get("ssid", "")
    if text.startswith('"'):
        return Ssid(text[1:-1].encode("utf-8", "surrogateescape"))
    return Ssid(bytes.fromhex(text))


def bssid_of(settings: NetworkSettings) -> str:
    """The only access point that a network is joined at, lower case with colons; empty where it is any."""
    bssid = settings.get("bssid", "").strip('"').lower()
    return bssid if len(bssid.split(":")) == 6 else ""
