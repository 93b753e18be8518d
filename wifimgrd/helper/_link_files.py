"""The files in /run by which systemd-networkd takes the addresses of links: their text, and the files.

systemd.network(5), networkd.conf(5). Only options that systemd 252 and 257 both have are used, with the one
exception below. A file in /run is gone after a reboot, as the link is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from tempfile import mkstemp
from typing import Final

from wifimgrd.domain.errors import InternalError
from wifimgrd.helper._interfaces import INTERFACES, require_name
from wifimgrd.helper._routing import LINK_TABLES
from wifimgrd.proxies.networkd.definitions import SETTINGS_FILE, SETTINGS_FOLDER
from wifimgrd.proxies.networkd.link_file import NETWORKS, PREFIX, SUFFIX, own_file

_READABLE: Final = 0o644
"""networkd runs as a user of its own."""

SETTINGS_TEXT: Final = """\
# Written by wifimgrd-net. Without it networkd deletes rules, routes and nexthops of other programs whenever
# it configures a link. ManageForeignNextHops is for systemd 256 and newer; older ones warn that they do not
# know it.
[Network]
ManageForeignRoutingPolicyRules=no
ManageForeignRoutes=no
ManageForeignNextHops=no
"""
_UNREAD_BY: Final = "# Written while networkd ran, which reads it when it starts: "

_MATCH: Final = """\
# Written by wifimgrd-net, for a camera's link.
[Match]
Name={interface}
"""
_LINK: Final = """\

[Link]
RequiredForOnline=no

[Network]
IPv6AcceptRA=no
LinkLocalAddressing=no
LLDP=no
EmitLLDP=no
LLMNR=no
MulticastDNS=no
DNSDefaultRoute=no
ConfigureWithoutCarrier=no
IgnoreCarrierLoss=no
KeepConfiguration={keep}
"""
_DHCP_KEY: Final = "DHCP="
_NO_DHCP: Final = f"{_DHCP_KEY}no\n"
_DHCP: Final = """\
DHCP=ipv4

[DHCPv4]
ClientIdentifier=mac
RouteTable={table}
UseRoutes=no
UseGateway=no
UseDNS=no
UseNTP=no
UseSIP=no
UseMTU=no
UseHostname=no
UseDomains=no
UseTimezone=no
SendHostname=no
"""
_STATIC: Final = """\
DHCP=no

[Address]
Address={address}
AddPrefixRoute=no

[Route]
Destination={network}
PreferredSource={source}
Scope=link
Table={table}
"""


@dataclass(frozen=True, slots=True)
class LinkConfiguration:
    """How an interface gets its address."""

    interface: str
    index: int
    """The kernel's index of the interface."""
    permanent_address: str
    """The MAC address of the adapter; empty where it is not known."""
    local_address: IPv4Interface | None = None
    """The address to take; None for DHCP."""
    keeps_foreign: bool = False
    """Whether networkd is not to delete rules of other programs when it configures this link. It does not
    delete an address of the lease then, either, when the lease expires."""

    @property
    def text(self) -> str:
        """The .network file."""
        table = LINK_TABLES + self.index
        match = _MATCH.format(interface=self.interface)
        if self.permanent_address:  # another adapter can have the name later
            match += f"PermanentMACAddress={self.permanent_address}\n"
        match += _LINK.format(keep="yes" if self.keeps_foreign else "no")
        if self.local_address is None:
            return match + _DHCP.format(table=table)
        return match + _STATIC.format(
            address=self.local_address,
            network=self.local_address.network,
            source=self.local_address.ip,
            table=table,
        )


class LinkFiles:
    """The helper's files for networkd; each method that changes some returns whether it did, and raises
    InternalError where they cannot be changed."""

    def __init__(
        self, networks: Path = NETWORKS, settings: Path = SETTINGS_FOLDER, interfaces: Path = INTERFACES
    ) -> None:
        self._networks = networks
        self._interfaces = interfaces
        self._settings = settings / SETTINGS_FILE

    def write(self, configuration: LinkConfiguration) -> bool:
        """Write the file of a link."""
        return _write(self.file(configuration.interface), configuration.text)

    def write_settings(self, run: str) -> bool:
        """Write the settings that keep networkd away from what other programs have in the kernel, if they are
        not there yet. `run` is networkd's run, or empty: networkd reads the settings only at its start."""
        if _read(self._settings).startswith(SETTINGS_TEXT):
            return False
        return _write(self._settings, f"{SETTINGS_TEXT}{_UNREAD_BY}{run}\n" if run else SETTINGS_TEXT)

    def has_read_settings(self, run: str) -> bool:
        """Whether that run of networkd was started after they were written."""
        return not _read(self._settings).endswith(f"{_UNREAD_BY}{run}\n")

    def has(self, interface: str) -> bool:
        """Whether the link has a file."""
        return self.file(interface).exists()

    @contextmanager
    def without_address(self, interface: str) -> Iterator[None]:
        """A link that has a file is configured, but is to take no address; then as before, unless the file
        was replaced or removed meanwhile."""
        file = self.file(interface)
        text = _read(file)
        shortened = text.partition(_DHCP_KEY)[0] + _NO_DHCP
        if text:
            _write(file, shortened)
        try:
            yield
        finally:
            if _read(file) == shortened:
                _write(file, text)

    def remove(self, interface: str) -> bool:
        """Remove the file of a link."""
        return _remove(self.file(interface))

    def remove_absent(self) -> bool:
        """Remove the files of interfaces that the kernel does not have: of adapters that were pulled out."""
        removed = [
            _remove(file)
            for file in self._networks.glob(f"{PREFIX}*{SUFFIX}")
            if not (self._interfaces / file.name.removeprefix(PREFIX).removesuffix(SUFFIX)).exists()
        ]
        return any(removed)

    def remove_all(self) -> bool:
        """Remove every file, also what a write that was interrupted has left."""
        files = [*self._networks.glob(PREFIX + "*"), *self._settings.parent.glob(self._settings.name + "*")]
        removed = [_remove(file) for file in files if not file.is_dir()]  # one is of another's drop-ins
        return any(removed)

    def file(self, interface: str) -> Path:
        """The file of a link; raises InvalidRequest."""
        require_name(interface)
        return own_file(interface, self._networks)


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def _write(file: Path, text: str) -> bool:
    try:
        with suppress(FileNotFoundError):
            if file.read_bytes() == text.encode():
                return False
        _replace(file, text)
    except OSError as error:
        raise InternalError(
            f"{file} cannot be written: {error.strerror}; `systemd-tmpfiles --create wifimgrd.conf` and "
            "`systemctl restart wifimgrd-net` let it"
        ) from None
    return True


def _replace(file: Path, text: str) -> None:
    """Write a file at once as a whole: networkd can read it at any time."""
    descriptor, name = mkstemp(prefix=file.name, suffix=".new", dir=file.parent)
    new = Path(name)
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
            os.fchmod(stream.fileno(), _READABLE)
        new.replace(file)
    except OSError:
        new.unlink()
        raise


def _remove(file: Path) -> bool:
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InternalError(f"{file} cannot be removed: {error.strerror}") from None
    return True
