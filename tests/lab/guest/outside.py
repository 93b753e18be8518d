"""What must not depend on a camera: where the host sends packets, its name, and where it looks names up."""

import contextlib
import ipaddress
import random
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from .deadline import DeadlineError, poll_until
from .namespace import Namespace, run

LAN_ADDRESS = "192.168.1.10"
NEIGHBOUR = "192.168.1.20"
GATEWAY = "192.168.1.1"
AT_ONCE = 1000


@contextlib.contextmanager
def lan(folder: Path) -> Iterator[Namespace]:
    """A LAN of the host's, 192.168.1.0/24, with the default route and a neighbour that it has talked to."""
    machine = Namespace("lan", folder)
    machine.create()
    try:
        run("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "eth0", "netns", machine.name)
        run("ip", "address", "add", f"{LAN_ADDRESS}/24", "dev", "lan0")
        run("ip", "link", "set", "lan0", "up")
        for address in (GATEWAY, NEIGHBOUR):
            machine.run("ip", "address", "add", f"{address}/24", "dev", "eth0")
        machine.run("ip", "link", "set", "eth0", "up")
        run("ip", "route", "add", "default", "via", GATEWAY)
        for address in (GATEWAY, NEIGHBOUR):
            run("ping", "-c", "1", "-W", "5", address)
        yield machine
    finally:
        machine.delete()


def addresses(*more: str) -> list[str]:
    """A thousand, of the LAN, of private and of public networks; always the same ones."""
    chosen = random.Random(15)
    networks = [ipaddress.IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]
    networks += [ipaddress.IPv4Network(text) for text in ("192.168.1.0/24", "0.0.0.0/1", "128.0.0.0/2")]
    found = {GATEWAY, NEIGHBOUR, LAN_ADDRESS, "8.8.8.8", "1.1.1.1", "198.51.100.20", *more}
    while len(found) < AT_ONCE:
        network = networks[len(found) % len(networks)]
        found.add(str(network[chosen.randrange(1, network.num_addresses - 1)]))
    return sorted(found)


def routes(asked: Sequence[str]) -> list[str]:
    """How the host reaches addresses, a line each.

    The kernel names the table `local` as soon as there are routing rules; it is used either way.
    """
    lines = "".join(f"route get {address}\n" for address in asked)
    done = subprocess.run(
        ("ip", "-force", "-oneline", "-batch", "-"), input=lines, capture_output=True, text=True, check=False
    )
    reached = [line.split(" uid ")[0].replace(" table local", "") for line in done.stdout.splitlines()]
    return reached + done.stderr.splitlines()


def settings() -> dict[str, str]:
    """The host's name, resolver, default route, proxies and the daemons that a lease could configure."""
    resolver = Path("/etc/resolv.conf")
    units = ("systemctl", "show", "-P", "Environment", "systemd-timesyncd.service")
    return {
        "hostname": socket.gethostname(),
        "resolver": resolver.read_text() if resolver.exists() else "",
        "default": run("ip", "route", "show", "default"),
        "time": run(*units),
        "environment": run("systemctl", "show-environment"),
        "domain": Path("/proc/sys/kernel/domainname").read_text(),
        "mtu": run("cat", "/sys/class/net/lan0/mtu"),
    }


def changes(asked: Sequence[str], before: tuple[list[str], dict[str, str]]) -> list[str]:
    """What is not as it was when `routes` and `settings` were `before`."""
    now_routes, now_settings = routes(asked), settings()
    return [
        *sorted(set(now_routes) ^ set(before[0])),
        *(f"{key}: {value!r}" for key, value in now_settings.items() if value != before[1][key]),
    ]


def expect_unchanged(asked: Sequence[str], before: tuple[list[str], dict[str, str]], what: object) -> None:
    """Fail unless all is as it was; NetworkManager removes a link's address just after the link has ended."""
    try:
        poll_until(lambda: not changes(asked, before), f"all as before {what}", 5)
    except DeadlineError:
        raise AssertionError(f"{what}: {changes(asked, before)}") from None
