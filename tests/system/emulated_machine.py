"""A Debian booted on a machine that QEMU emulates, from a folder of this host, with Debian's own kernel,
systemd and udev. It needs no KVM, and changes nothing in the folder.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_MODULES: Final = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_rng")
_SHARED: Final = "security_model=none,multidevs=remap"
_MOUNT: Final = "mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000"
_INIT: Final = f"""#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module"; done </modules/order
mount -t tmpfs -o size=75% tmpfs /mnt
mkdir -p /mnt/lower /mnt/upper /mnt/work
{_MOUNT},cache=loose,ro root /mnt/lower || exec sh
mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work overlay /new || exec sh
mkdir -p /new/out
{_MOUNT},cache=none out /new/out
umount /proc /sys
mount -o move /dev /new/dev
exec switch_root /new /sbin/init
"""
_UNIT: Final = """[Unit]
After=multi-user.target
[Service]
Type=exec
ExecStart=/usr/bin/python3 {program}
StandardOutput=append:/out/log
StandardError=append:/out/log
ExecStopPost=systemctl poweroff --force --force
[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True)
class Board:
    """A kind of machine: the command that emulates it, and what its kernel is told."""

    qemu: tuple[str, ...]
    kernel: str


X86_64: Final = Board(
    ("qemu-system-x86_64", "-M", "q35", "-cpu", "max"),
    # Without no_timer_check a kernel takes its timer for broken, and panics, on a host that is busy.
    "console=ttyS0 mitigations=off nokaslr random.trust_cpu=on tsc=reliable no_timer_check",
)
ARM64: Final = Board(("qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72"), "console=ttyAMA0")
"""The processor of a Raspberry Pi 4."""


@dataclass(frozen=True)
class Machine:
    """What is emulated: the board, its memory, and hardware with the modules that drive it."""

    board: Board
    memory_mb: int
    hardware: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    masked: Sequence[str] = field(default=())
    """Services that do not run, by their names."""


def run_in_machine(
    machine: Machine, root: Path, parts: Path, out: Path, program: str, timeout_s: float
) -> str:
    """Boot a Debian and run a Python program of it, as root; returns what it said. The program has
    `out` as /out; `parts` is from build_kernel. What is written in the machine elsewhere is lost."""
    units = root / "etc" / "systemd" / "system"
    for unit in machine.masked:
        (units / f"{unit}.service").unlink(missing_ok=True)
        (units / f"{unit}.service").symlink_to("/dev/null")
    (units / "program.service").write_text(_UNIT.format(program=program))
    wanted = units / "multi-user.target.wants"
    wanted.mkdir(exist_ok=True)
    (wanted / "program.service").unlink(missing_ok=True)
    (wanted / "program.service").symlink_to("../program.service")
    initrd = out / "initrd"
    initrd.write_bytes(_archive(parts, machine.modules))
    console = out / "console"
    command = (
        *(*machine.board.qemu, "-accel", "tcg,thread=multi", "-smp", "2", "-m", str(machine.memory_mb)),
        *("-nodefaults", "-display", "none", "-no-reboot", "-device", "virtio-rng-pci"),
        *("-kernel", str(parts / "vmlinuz"), "-initrd", str(initrd)),
        *("-append", f"{machine.board.kernel} quiet panic=-1 net.ifnames=0"),
        *("-serial", f"file:{console}"),
        *("-virtfs", f"local,path={root},mount_tag=root,readonly=on,{_SHARED}"),
        *("-virtfs", f"local,path={out},mount_tag=out,{_SHARED}"),
        *machine.hardware,
    )
    with (out / "qemu").open("wb") as said:
        emulated = subprocess.Popen(
            ("setpriv", "--pdeathsig=KILL", *command), stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
    try:
        status = emulated.wait(timeout_s)
    except subprocess.TimeoutExpired:
        status = -1
    finally:
        emulated.kill()
        emulated.wait()
    log = out / "log"
    end = log.read_text(errors="replace") if log.exists() else console.read_text(errors="replace")[-4000:]
    assert status == 0, f"the machine ended with {status}, or not in {timeout_s:g} s:\n{end}"
    return end


def _archive(parts: Path, more_modules: Sequence[str]) -> bytes:
    """An initial file system: what mounts the folders of this host, and the modules that it takes."""
    modules = _in_order(parts / "modules", [*_MODULES, *more_modules])
    archive = _Archive()
    for folder in ("bin", "dev", "proc", "sys", "mnt", "new", "modules"):
        archive.add(folder, 0o40755)
    archive.add("bin/busybox", 0o100755, (parts / "busybox").read_bytes())
    for name in ("sh", "mount", "umount", "insmod", "switch_root", "mkdir"):
        archive.add(f"bin/{name}", 0o120777, b"busybox")
    for module in modules:
        archive.add(f"modules/{module.name}", 0o100644, module.read_bytes())
    archive.add("modules/order", 0o100644, "".join(f"{module.name}\n" for module in modules).encode())
    archive.add("init", 0o100755, _INIT.encode())
    archive.add("TRAILER!!!", 0)
    return bytes(archive.data)


def _in_order(folder: Path, wanted: Sequence[str]) -> list[Path]:
    """Modules, each after those that it depends on; what is not there is built into the kernel."""
    files = {file.stem.replace("-", "_"): file for file in folder.glob("*.ko")}
    order: list[Path] = []
    for name in wanted:
        file = files.get(name.replace("-", "_"))
        if file is not None and file not in order:
            needed = re.search(rb"\0depends=([^\0]+)\0", file.read_bytes())
            names = needed[1].decode().split(",") if needed is not None else []
            order += [one for one in _in_order(folder, names) if one not in order]
            order.append(file)
    return order


class _Archive:
    """An archive of the kind that the kernel unpacks: cpio, "newc"."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._files = 0

    def add(self, name: str, mode: int, content: bytes = b"") -> None:
        """Add a file, a folder or a link."""
        self._files += 1
        path = name.encode() + b"\0"
        numbers = (self._files, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
        self.data += b"070701" + b"".join(b"%08x" % number for number in numbers)
        for part in (path, content):
            self.data += part
            self.data += b"\0" * (-len(self.data) % 4)
