"""The calls of the daemon to the helper, which has root's rights over the host's network.

It makes addresses lead to cameras, and opens sockets to them.

It answers only the daemon's user; others get NotAuthorized. Each call may fail with InvalidArguments
and Failed, too. An interface is a wireless one, whose name is 1 to 15 letters, digits, and `_.-`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from wifimgrd.wire.private_calls import PrivateInterface, member

BUS_NAME: Final = "org.wifimgrd1.Net"
"""Of the process, and the name of its interface."""
PATH: Final = "/org/wifimgrd1/net"
REFUSED: Final = "org.wifimgrd1.Net.Error.Refused"
"""The camera is there, and refuses connections at a port."""


class CameraEntry(NamedTuple):
    """A camera in the plan, as APPLY takes it, or an adapter without a link, whose other fields are empty."""

    device_id: int
    """0 for an adapter without a link: it is only closed."""
    address: str
    """The device's own address in the cameras' network; empty if it has none."""
    interface: str
    camera_address: str
    """The camera's own address on the interface; empty while there is no link."""
    codename: str


NetworkArguments = tuple[str, int, bytes, str, str, str, bool]
"""Those of ADD_NETWORK."""
ProfileArguments = tuple[*NetworkArguments, str, str, int, str, int]
"""Those of ACTIVATE_PROFILE."""

APPLY: Final = member("Apply", network="s", cameras="a(tssss)").returning(conflict="s")
"""Make the kernel's tables lead to these cameras and to no others, at once for all of them, and let in
from their interfaces only what they may send; where it is so already nothing happens. What somebody
else changes later is restored. The networks that the cameras are shared with and the ports that they
may send to are read from the configuration and the catalog, again for each new daemon.

network: the cameras' network, such as `10.77.0.0/24`; empty if they have no addresses.
cameras: a CameraEntry of each interface that the hub uses or can use. One whose interface is gone, has an
  index over 65535, or carries a connection of the host's when it is first listed (the table `main` has a
  default route through it, or one of an address or a lease) is left out.
conflict: empty, or why the network cannot be the cameras': then they have no addresses until it can."""
OPEN: Final = member("Open", device_id="t", port="q", kind="s").returning(socket="h")
"""Open a socket to the camera of a device of the last APPLY, through the interface of its link. It is
connected, does not block, and reaches only that camera: no router, no other host, not this host,
whatever its holder does with it. A device that is not there yet is waited for, 2 s.

kind: `tcp` or `udp`. TCP has 5 s to be connected.
socket: the caller closes it.
Errors: DeviceNotReachable, InterfaceLost, and REFUSED."""
RESTART_LINK: Final = member("RestartLink", interface="s")
"""Take the link of an interface down and up: a step of recovery for an adapter that does not work. If it
is not wireless, nothing happens."""
END_POWER_SAVE: Final = member("EndPowerSave", interface="s").returning(was_on="b")
"""Switch Wi-Fi power save off on an interface that a camera is connected through. If it is not wireless,
nothing happens.

was_on: somebody else has switched it on.
Errors: Failed if it cannot be known: the driver has no power save."""
REGISTER_INTERFACE: Final = member("RegisterInterface", interface="s").returning(path="o")
"""Register an interface with wpa_supplicant, which then controls it: for hosts without NetworkManager. No
configuration file is passed.

path: wpa_supplicant's object of the interface.
Errors: BackendUnavailable if wpa_supplicant does not answer, and what it answers, such as
fi.w1.wpa_supplicant1.InterfaceExists."""
ADD_NETWORK: Final = member(
    "AddNetwork",
    interface="s",
    device_id="t",
    ssid="ay",
    key_management="s",
    passphrase="s",  # noqa: S106 - a type
    bssid="s",
    hidden="b",
).returning(path="o")
"""Configure a network in wpa_supplicant, disabled, on an interface that is registered there. It is marked
with the device (`id_str`), and has no other settings than these: none that names a file.

interface: it carries no connection of the host's.
device_id: the device that it is for.
ssid: 1 to 32 bytes.
key_management: `none` (open), `wpa-psk` (WPA-PSK, with SHA-256 too, and SAE), `sae` or `owe`.
passphrase: of `wpa-psk` and `sae`: 8 to 63 printable ASCII characters, or 64 hexadecimal digits;
  otherwise empty. It is passed on, and neither kept nor logged.
bssid: the only access point that is joined, such as `02:00:00:00:00:01`; empty for any.
hidden: the access point does not broadcast its SSID.
path: wpa_supplicant's object of the network.
Errors: as those of REGISTER_INTERFACE; fi.w1.wpa_supplicant1.InterfaceUnknown if it is not registered."""
LIMIT_NETWORKS: Final = member("LimitNetworks", interface="s", bssid="s")
"""Have the networks that wpa_supplicant has on an interface be joined only at one access point: the camera
has another BSSID now.

interface, bssid: as of ADD_NETWORK; the latter is not empty.
Errors: as those of ADD_NETWORK."""
SET_COUNTRY: Final = member("SetCountry", interface="s", country="s")
"""Have wpa_supplicant set the regulatory domain, which is the host's.

interface: it is registered with wpa_supplicant.
country: an ISO 3166-1 alpha-2 code.
Errors: as those of ADD_NETWORK."""
ACTIVATE_PROFILE: Final = member(
    "ActivateProfile",
    **ADD_NETWORK.arguments,
    device="o",
    uuid="s",
    dhcp_timeout_s="u",
    local_address="s",
    not_after_us="t",
).returning(profile="o", active="o")
"""Have NetworkManager add a profile, and activate it once, on an adapter. It is volatile, or that of an
open network, which is in memory until it is deleted. It is marked with the device (the key
`org.wifimgrd.device` of its `user` setting), and has no other settings than these: no routes, no
resolvers, nothing that names a file.

The first arguments: as of ADD_NETWORK.
device: NetworkManager's object of the adapter. It refuses another one than the interface's.
uuid: of the profile, in lower case.
dhcp_timeout_s: how long a DHCP server is waited for, 1 to 600 s; without local_address.
local_address: empty for DHCP; otherwise as of CONFIGURE_LINK.
not_after_us: until when the caller waits, in microseconds of CLOCK_MONOTONIC: after that nothing
  happens.
profile, active: NetworkManager's objects of the profile, and of its active connection.
Errors: BackendUnavailable if NetworkManager does not answer or the call came too late, and what
NetworkManager answers, such as org.freedesktop.NetworkManager.UnknownDevice."""
DEACTIVATE_PROFILE: Final = member("DeactivateProfile", active="o")
"""Have NetworkManager deactivate an active connection, whose profile has the hub's mark.

active: NetworkManager's object of the active connection.
Errors: as those of ACTIVATE_PROFILE; InvalidArguments if the mark is missing."""
DELETE_PROFILE: Final = member("DeleteProfile", profile="o")
"""Have NetworkManager delete a profile that has the hub's mark.

profile: NetworkManager's object of the profile.
Errors: as those of DEACTIVATE_PROFILE."""
SET_MANAGED: Final = member("SetManaged", interface="s", managed="b")
"""Set whether NetworkManager manages an adapter: a step of recovery for one that does not work.

interface: if managed is false, it carries no connection of the host's.
managed: false removes its interface from wpa_supplicant, too.
Errors: as those of ACTIVATE_PROFILE."""
SET_AUTOCONNECT: Final = member("SetAutoconnect", interface="s", autoconnect="b")
"""Set whether NetworkManager may activate profiles on an adapter automatically.

Errors: as those of ACTIVATE_PROFILE."""
CONFIGURE_LINK: Final = member("ConfigureLink", interface="s", local_address="s")
"""Have systemd-networkd take an address on an interface, once it has a carrier: for hosts without
NetworkManager. Routes are put into a table of the link, resolvers and other options of the lease are
not used. networkd is started if it does not run; an address that the interface still has, or that
networkd would never set again, is deleted; where everything is so already nothing happens. Returns once
networkd applies the helper's file, and no other one, to the interface. It stays so when the helper
stops.

local_address: empty for DHCP; otherwise a private IPv4 address and its prefix, such as
  `192.168.54.2/24`.
Errors: AddressFailed if a file of the host's is in force, which the message names, and
BackendUnavailable if networkd cannot be started or does not answer; the message says why."""
REQUEST_LEASE: Final = member("RequestLease", interface="s")
"""Have networkd begin anew with DHCP on an interface that is associated: its message was probably lost.
Nothing happens if networkd has a lease, unless it would never set its address, or if the interface was
not configured. networkd is started if it does not run.

Errors: BackendUnavailable if networkd cannot be started or does not answer."""
RELEASE_LINK: Final = member("ReleaseLink", interface="s")
"""End what CONFIGURE_LINK has begun: the address is deleted, and networkd no longer configures the interface.

interface: it may be gone; if it was not configured, nothing happens.
Errors: BackendUnavailable."""
CLEAR: Final = member("Clear")
"""Take everything away, but sockets that were opened.

Errors: BackendUnavailable."""
CONFLICT_CHANGED: Final = member("ConflictChanged", conflict="s")
"""The network came in conflict with another of this host, or that is over.

conflict: as APPLY returns it."""

INTERFACE: Final = PrivateInterface(
    BUS_NAME,
    PATH,
    methods=(
        *(APPLY, OPEN, RESTART_LINK, END_POWER_SAVE),
        *(REGISTER_INTERFACE, ADD_NETWORK, LIMIT_NETWORKS, SET_COUNTRY),
        *(ACTIVATE_PROFILE, DEACTIVATE_PROFILE, DELETE_PROFILE, SET_MANAGED, SET_AUTOCONNECT),
        *(CONFIGURE_LINK, REQUEST_LEASE, RELEASE_LINK, CLEAR),
    ),
    signals=(CONFLICT_CHANGED,),
)
