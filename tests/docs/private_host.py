"""This machine as a reader has it who runs nothing else: no port is taken, and what is written is forgotten.

A network namespace, and mounts of its own: changes of the checkout go to memory, and `/srv` is empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.docs.code_blocks import CHECKOUT
from tests.namespaces import namespaces

_SET_UP: Final = """
ip link set lo up
mount -t sysfs sysfs /sys    # whose list of interfaces is that of the network namespace
mount -t tmpfs tmpfs /srv
mkdir /srv/changes /srv/work
mount -t overlay -o "lowerdir=$1,upperdir=/srv/changes,workdir=/srv/work" overlay "$1"
mount -t tmpfs tmpfs /srv
"""


@dataclass(frozen=True, slots=True)
class PrivateHost:
    """Namespaces, kept by a process."""

    pid: int
    environment: tuple[str, ...] = ()
    """Of commands there, as the arguments of env(1); empty: that of the test."""

    @property
    def inside(self) -> list[str]:
        """The beginning of a command that is to run there, in the checkout."""
        enter = ["nsenter", f"--target={self.pid}", "--net", "--mount", f"--wdns={CHECKOUT}"]
        return [*enter, "env", *self.environment] if self.environment else enter

    def file(self, path: str) -> Path:
        """A file there, as seen from outside; relative paths are below the checkout."""
        return Path(f"/proc/{self.pid}/root") / (CHECKOUT / path).relative_to("/")


@contextmanager
def private_host() -> Iterator[PrivateHost]:
    """A host until the end of the test; root alone can make one."""
    with namespaces(_SET_UP, str(CHECKOUT)) as pid:
        yield PrivateHost(pid)
