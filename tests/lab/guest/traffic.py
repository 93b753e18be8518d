"""Traffic through one adapter to the camera behind it: curl, bound to the interface (SO_BINDTODEVICE)."""

import contextlib
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from .deadline import poll_until


def fetch(interface: str | None, url: str = "http://192.168.42.1/", seconds: float = 5.0) -> str:
    """Fetch a page; a camera's own page is its name. None = wherever the host's routes lead."""
    binding = ("--interface", interface) if interface else ()
    done = subprocess.run(
        ("curl", "-sS", "-m", str(seconds), *binding, url),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise ConnectionError(f"through {interface}: {done.stderr.strip()}")
    return done.stdout.strip()


def until_fetched(interface: str | None, page: str, url: str = "http://192.168.42.1/") -> None:
    """Wait until a page comes through a link that is back: NetworkManager asks for its lease again, and takes
    the address away for that moment. Or until it comes from a device's address, which may lead to the camera
    only after a busy host has reported it as connected (`address_late`)."""

    def fetched() -> bool:
        with contextlib.suppress(ConnectionError):
            return fetch(interface, url, seconds=1) == page
        return False

    poll_until(fetched, f"{page} at {url} through {interface}")


class Download:
    """A download that runs beside the test: a camera's ticks by default, numbered lines, one each 0.1 s.

    Ticks come in one TCP connection: as long as their numbers grow, that connection has never broken.
    """

    def __init__(self, interface: str | None, url: str = "http://192.168.42.1/cgi-bin/ticks") -> None:
        self.interface = interface
        self._file = tempfile.NamedTemporaryFile()  # noqa: SIM115 (closed by stop)
        binding = ("--interface", interface) if interface else ()
        self._curl = subprocess.Popen(("curl", "-sSN", *binding, "-o", self._file.name, url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether it has neither ended nor failed."""
        return self._curl.poll() is None

    def received(self) -> int:
        """Count the bytes that have come so far."""
        return Path(self._file.name).stat().st_size

    def ticks(self) -> int:
        """Give the last tick that has come."""
        lines = Path(self._file.name).read_bytes().split(b"\n")[:-1]
        return int(lines[-1]) if lines else 0

    def expect_whole(self) -> None:
        """Fail unless every tick has come, in order and once, and more come."""
        self.expect_more()
        ticks = Path(self._file.name).read_bytes().split(b"\n")[:-1]
        assert [int(tick) for tick in ticks] == list(range(1, len(ticks) + 1))

    def expect_more(self, seconds: float = 5.0) -> None:
        """Fail unless something new comes, on the same connection."""
        before = self.received()
        poll_until(
            lambda: self.running and self.received() > before, f"more data through {self.interface}", seconds
        )

    def stop(self) -> None:
        """End it."""
        self._curl.kill()
        self._curl.wait()
        self._file.close()
