"""A booted Debian in a container (systemd-nspawn): systemd, D-Bus, the journal; no Wi-Fi, no network."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

_BOOT_S = 60.0
_NUMBERS = itertools.count(1)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def image_of(suite: str) -> Path:
    """The root file system of a Debian, without wifimgrd."""
    make = Path(__file__).with_name("build_image")
    made = subprocess.run([make, suite], check=True, stdout=subprocess.PIPE, text=True)
    return Path(made.stdout.split()[-1])


class Layer:
    """What was written on top of an image: a folder of an overlay, in memory until `close`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="wifimgrd-system."))
        _run("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", str(self.folder))
        self.written = self.folder / "written"
        for name in ("written", "work", "root"):
            (self.folder / name).mkdir()

    def mount(self, lower: Sequence[Path]) -> Path:
        """Show the layer on top of others, uppermost first; returns where."""
        options = f"lowerdir={':'.join(map(str, lower))},upperdir={self.written},workdir={self.folder}/work"
        _run("mount", "-t", "overlay", "-o", options, "overlay", str(self.folder / "root"))
        return self.folder / "root"

    def unmount(self) -> None:
        """Show it no more; what was written stays."""
        _run("umount", "--lazy", str(self.folder / "root"))

    def close(self) -> None:
        """Forget what was written."""
        _run("umount", "--lazy", str(self.folder))
        self.folder.rmdir()


class Machine:
    """A running machine, on layers of which the lowest is an image."""

    def __init__(self, lower: Sequence[Path], files: Path) -> None:
        """`files` is a folder that it sees as /host, read-only."""
        self._layer = Layer()
        self._lower = lower
        self._files = files
        self._name = f"hub-{os.getpid()}-{next(_NUMBERS)}"
        """No other has it: systemd 257 refuses the name of one that was killed."""
        self._container: subprocess.Popen[bytes] | None = None
        self._leader = 0
        self.root = Path()
        """Its root file system, seen from outside."""

    @property
    def written(self) -> Path:
        """What it has written, as a layer for other machines."""
        return self._layer.written

    def boot(self) -> None:
        """Start it, and wait until systemd says that it is up."""
        self.root = self._layer.mount(self._lower)
        self._console = (self._layer.folder / "console").open("wb")
        self._container = subprocess.Popen(
            [
                # A machine that outlived its test would share control groups with the next one.
                *("setpriv", "--pdeathsig=KILL"),
                *("systemd-nspawn", "--quiet", f"--directory={self.root}", f"--machine={self._name}"),
                *("--register=no", "--keep-unit", "--private-network", "--console=read-only"),
                *(f"--bind-ro={self._files}:/host", "--boot"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._console,
            stderr=subprocess.STDOUT,
            # Debian 13's systemd does not run on the control groups of old; so neither does Debian 12's here.
            env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
            start_new_session=True,
        )
        self.wait_until(self._is_up, "the machine is up", _BOOT_S)

    def _is_up(self) -> bool:
        assert self._container is not None
        assert self._container.poll() is None, self.console()
        children = (
            Path(f"/proc/{self._container.pid}/task/{self._container.pid}/children").read_text().split()
        )
        if not children:
            return False
        self._leader = int(children[0])
        state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
        return state in ("running", "degraded")

    def console(self) -> str:
        """What was said on its console."""
        return (self._layer.folder / "console").read_text(errors="replace")

    def run(
        self,
        *command: str,
        check: bool = True,
        user: str | None = None,
        stdin: str | None = None,
        timeout_s: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in it, as root or as `user`; a status other than 0 fails the test if `check`."""
        become = [] if user is None else _become(user)
        done = subprocess.run(
            [*self._inside, *_environment(_PATH), *become, *command],
            check=False,
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def login(self, user: str) -> list[str]:
        """The beginning of a command that is to run as a person who has just logged in, at home."""
        home = f"/home/{user}"
        environment = _environment("/usr/local/bin:/usr/bin:/bin", home, USER=user)
        return [*self._inside, "env", f"--chdir={home}", *environment, *_become(user)]

    @property
    def _inside(self) -> list[str]:
        return ["nsenter", f"--target={self._leader}", "--mount", "--uts", "--ipc", "--net", "--pid"]

    def sh(self, script: str) -> str:
        """Run a shell script in it as root; returns what it wrote."""
        return self.run("bash", "-euo", "pipefail", "-c", script).stdout

    def write(self, path: str, text: str) -> None:
        """Write a file in it."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    @staticmethod
    def wait_until(holds: Callable[[], bool], what: str, timeout_s: float = 20) -> None:
        """Ask again and again, where nothing outside reports what has happened."""
        end = time.monotonic() + timeout_s
        while not holds():
            assert time.monotonic() < end, f"waited {timeout_s} s in vain until {what}"
            time.sleep(0.05)

    def power_off(self) -> None:
        """Stop it in order, so that what it wrote can be a layer for others."""
        assert self._container is not None
        self.run("systemctl", "poweroff", "--no-block", check=False)
        try:
            self._container.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._container.kill()
            self._container.wait()
        self._console.close()
        self._layer.unmount()

    def close(self) -> None:
        """End it at once and forget what it wrote."""
        if self._container is not None and not self._console.closed:
            if self._container.poll() is None:
                # Its first process takes all of it along.
                os.kill(self._leader or self._container.pid, 9)
                self._container.wait(timeout=30)
            self._console.close()
            self._layer.unmount()
        self._layer.close()

    def __enter__(self) -> Self:
        try:
            self.boot()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _environment(path: str, home: str = "/root", **more: str) -> list[str]:
    variables = {"PATH": path, "LANG": "C.UTF-8", "HOME": home, "TERM": "dumb", **more}
    return ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]


def _become(user: str) -> list[str]:
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]


def _run(*command: str) -> None:
    assert shutil.which(command[0])
    subprocess.run(command, check=True, capture_output=True)
