"""A server's own network: a wired link with an address by DHCP, which systemd-networkd has configured, and a
VPN's rule and routes beside it."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .access_point import TICKS
from .deadline import poll_until
from .namespace import CommandError, Namespace, run
from .traffic import Download

INTERFACE = "wired0"
GATEWAY = "192.0.2.1"
SERVER = "198.51.100.7"
"""A web server behind the gateway, to which the VPN has a route of its own."""
NETWORKD = "systemd-networkd.service"
_FILE = Path("/etc/systemd/network/20-wired.network")
_CONFIGURATION = f"""\
[Match]
Name={INTERFACE}
[Network]
DHCP=yes
"""
_SETTINGS = Path("/run/systemd/networkd.conf.d/50-wifimgrd.conf")
_OWN_TABLES = range(0x77490000, 0x774C0000)
"""Routing tables of the product."""


@contextlib.contextmanager
def wired_link(folder: Path) -> Iterator[None]:
    """networkd has configured the link, without having read any settings of the product."""
    lan = Namespace("lan", folder)
    pages = folder / "www/cgi-bin"
    pages.mkdir(parents=True)
    pages.joinpath("ticks").write_text(TICKS)
    pages.joinpath("ticks").chmod(0o755)
    _SETTINGS.unlink(missing_ok=True)
    _FILE.parent.mkdir(exist_ok=True)
    lan.create()
    try:
        run("ip", "link", "add", INTERFACE, "type", "veth", "peer", "name", "eth0", "netns", lan.name)
        lan.run("ip", "address", "add", f"{GATEWAY}/24", "dev", "eth0")
        lan.run("ip", "address", "add", f"{SERVER}/32", "dev", "lo")
        lan.run("ip", "link", "set", "eth0", "up")
        lan.start(
            *("dnsmasq", "-k", "-p0", "-C/dev/null", "--interface=eth0", "--bind-interfaces"),
            *(f"--dhcp-leasefile={folder}/leases", "--dhcp-range=192.0.2.50,192.0.2.60,1h"),
            *(f"--dhcp-option=option:router,{GATEWAY}", f"--dhcp-option=option:dns-server,{GATEWAY}"),
        )
        lan.start("busybox", "httpd", "-f", "-p", f"{SERVER}:80", "-h", str(folder / "www"))
        _FILE.write_text(_CONFIGURATION)
        run("systemctl", "start", NETWORKD)
        until_configured()
        run("ip", "link", "add", "vpn0", "type", "dummy")
        run("ip", "link", "set", "vpn0", "up")
        run("ip", "rule", "add", "fwmark", "0x5", "lookup", "55", "preference", "300")
        run("ip", "route", "add", "default", "dev", "vpn0", "table", "55")
        add_vpn_route()
        yield
    finally:
        for command in (
            ("rule", "del", "preference", "300"),
            ("link", "del", "vpn0"),
            ("link", "del", INTERFACE),
        ):
            with contextlib.suppress(CommandError):  # it is what a failed test has lost
                run("ip", *command)
        _FILE.unlink(missing_ok=True)
        lan.delete()


def add_vpn_route() -> None:
    """Add the VPN's route to its server. networkd before systemd 257 deletes the address of a lease when it
    is started again, whoever does that, and the kernel deletes the routes through the interface with it."""
    run("ip", "route", "replace", SERVER, "via", GATEWAY, "dev", INTERFACE)


def until_configured() -> None:
    """Wait until the link has its address and its default route."""
    poll_until(lambda: _described()["AdministrativeState"] == "configured", "the wired link", 30)
    poll_until(lambda: f"dev {INTERFACE}" in run("ip", "route", "show", "default"), "the default route", 30)


def download() -> Download:
    """A download through the wired link, which goes on for ever."""
    return Download(None, f"http://{SERVER}/cgi-bin/ticks")


def network_of_the_host() -> dict[str, Any]:
    """The rules, routes and resolver of the host and networkd's view of the link, without what is the
    product's and without lifetimes."""
    resolver = Path("/etc/resolv.conf")
    described = _described()
    return {
        "rules": [one for one in json.loads(run("ip", "-j", "rule")) if not _is_own(one)],
        "routes": [
            one
            for one in json.loads(run("ip", "-4", "-j", "route", "show", "table", "all"))
            if not one.get("dev", "").startswith(("wlan", "wifimgrd")) and not _is_own(one)
        ],
        "resolver": resolver.read_text() if resolver.exists() else None,
        "addresses": sorted((one["Address"], one["ConfigSource"]) for one in described["Addresses"]),
        "link": {key: described.get(key) for key in ("NetworkFile", "AdministrativeState", "DNS")},
    }


def _is_own(one: dict[str, Any]) -> bool:
    """Whether a rule or route is the product's, by its table."""
    table = str(one.get("table", ""))
    return table.isdigit() and int(table) in _OWN_TABLES


def _described() -> dict[str, Any]:
    """networkd's description of the link; empty values while there is none."""
    index = Path(f"/sys/class/net/{INTERFACE}/ifindex").read_text().strip()
    manager = ("org.freedesktop.network1", "/org/freedesktop/network1", "org.freedesktop.network1.Manager")
    try:
        answer = json.loads(run("busctl", "--json=short", "call", *manager, "DescribeLink", "i", index))
    except CommandError:  # networkd has just been started
        return {"AdministrativeState": "", "Addresses": []}
    described: dict[str, Any] = json.loads(answer["data"][0])
    return described
