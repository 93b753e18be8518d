"""Hosts of a test's own: network and mount namespaces, with cables between them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.namespaces import in_network, namespaces

_SET_UP: Final = """
ip link set lo up
mount -t tmpfs tmpfs /mnt
mkdir /mnt/changes /mnt/work
mount -t overlay -o lowerdir=/etc,upperdir=/mnt/changes,workdir=/mnt/work overlay /etc
for folder in /run /var/lib/mosquitto /var/log/mosquitto; do
    mount -t tmpfs tmpfs "$folder"
done
mkdir /run/mosquitto
chown mosquitto: /run/mosquitto /var/lib/mosquitto /var/log/mosquitto
"""
_DROP: Final = """
table inet cut {
  chain input { type filter hook input priority 0; iifname != "lo" drop; }
  chain output { type filter hook output priority 0; oifname != "lo" drop; }
}
"""


@dataclass(frozen=True, slots=True)
class PrivateHost:
    """Namespaces, kept by a process: no port is taken, and changes below /etc and /var go to memory."""

    pid: int

    def run(self, *command: str, text: str | None = None) -> str:
        """Run a command to its end; what it printed."""
        done = subprocess.run(
            [*inside(self), *command],
            input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    def file(self, path: str) -> Path:
        """A file there, as seen from outside."""
        return Path(f"/proc/{self.pid}/root") / path.lstrip("/")

    def connect(self, other: PrivateHost, own_address: str, other_address: str) -> None:
        """Connect both by a cable."""
        self.run("ip", "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", str(other.pid))
        for host, address in ((self, own_address), (other, other_address)):
            host.run("ip", "address", "add", f"{address}/24", "dev", "wire")
            host.run("ip", "link", "set", "wire", "up")

    def cut_off(self) -> None:
        """Drop every packet, in both directions: nobody receives a FIN or RST."""
        self.run("/usr/sbin/nft", "-f", "-", text=_DROP)

    def restore(self) -> None:
        """End `cut_off`."""
        self.run("/usr/sbin/nft", "delete", "table", "inet", "cut")


@contextmanager
def private_host() -> Iterator[PrivateHost]:
    """A host until the end of the test; root alone can make one."""
    with namespaces(_SET_UP) as pid:
        yield PrivateHost(pid)


def inside(host: PrivateHost | None) -> tuple[str, ...]:
    """The beginning of a command that is to run on a host; None = this one."""
    return () if host is None else ("nsenter", f"--target={host.pid}", "--net", "--mount", "--wd=.")


def network_of(host: PrivateHost | None) -> AbstractContextManager[None]:
    """Sockets that this thread, or one that it starts, opens meanwhile are those of a host (None = this)."""
    return in_network(None if host is None else Path(f"/proc/{host.pid}/ns/net"))
