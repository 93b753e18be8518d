"""Run inside a unit's sandbox, as its user: tries what the sandbox must refuse, and what must work."""

import ctypes
import mmap
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyudev

_CLONE_NEWNS = 0x00020000
_PTRACE_ATTACH = 16


def refused(what: Callable[..., Any], *arguments: Any) -> bool:
    """Whether the system says no."""
    try:
        what(*arguments)
    except OSError:
        return True
    return False


def probe(name: str) -> None:
    """Fail with what was possible and must not be, or the other way round."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert refused(socket.socket, socket.AF_INET, socket.SOCK_STREAM), "a network socket can be made"
    assert refused(Path("/etc/wifimgrd/probe").touch), "/etc can be written"
    assert refused(Path("/usr/probe").touch), "/usr can be written"
    writable_code = mmap.PROT_WRITE | mmap.PROT_EXEC
    assert refused(mmap.mmap, -1, 4096, mmap.MAP_PRIVATE, writable_code), "code can be made at run time"
    assert os.getuid() != 0, "this is root"
    assert refused(os.setuid, 0), "this can become root"
    assert libc.unshare(_CLONE_NEWNS) == -1, "a name space can be made"
    assert libc.ptrace(_PTRACE_ATTACH, 1, 0, 0) == -1, "another process can be traced"
    assert not Path("/dev/kmsg").exists(), "devices are there"
    assert not list(Path("/home").glob("*")), "homes are there"
    assert not Path("/proc/1/cmdline").exists(), "processes of others are there"
    if name == "wifimgrd":
        context = pyudev.Context()
        assert "lo" in [device.sys_name for device in context.list_devices(subsystem="net")]
        monitor = pyudev.Monitor.from_netlink(context)
        monitor.filter_by("net")
        monitor.start()
        Path(os.environ["STATE_DIRECTORY"], "probe").touch()
    else:
        assert refused(os.listdir, "/var/lib/wifimgrd"), "the daemon's state is there"


if __name__ == "__main__":
    probe(sys.argv[1])
