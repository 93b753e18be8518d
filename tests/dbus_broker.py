"""A real dbus-broker of one's own, for tests; run in a mount namespace of its own: `unshare --mount`.

dbus-broker-launch(1) takes its socket from systemd and does not start without a journal. Both are made
here, the journal's socket in a /run that this process alone sees. The programs are in .dbus-broker
(tools/set-up), since the package, once installed, replaces the host's own message bus; they look for
each other in /usr/bin.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

_PROGRAMS: Final = Path(__file__).parent.parent / ".dbus-broker/usr/bin"
_JOURNAL: Final = Path("/run/systemd/journal/socket")
_LISTEN_FD: Final = 3
"""The first descriptor that systemd passes: sd_listen_fds(3)."""
_PR_SET_PDEATHSIG: Final = 1
_SESSION_BUS: Final = """\
<busconfig><type>session</type>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
</busconfig>
"""


def main(configuration: Path | None) -> None:
    """Print the bus's address and become dbus-broker-launch; `configuration` as for dbus-daemon(1)."""
    folder = Path(tempfile.mkdtemp(prefix="wifimgrd-bus-"))
    address = folder / "bus"
    if configuration is None:
        configuration = folder / "session.conf"
        configuration.write_text(_SESSION_BUS)
    else:
        listen = ElementTree.parse(configuration).findtext("listen") or ""
        if listen.startswith("unix:path="):
            address = Path(listen.removeprefix("unix:path="))
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    subprocess.run(["mount", "--bind", str(_PROGRAMS), "/usr/bin"], check=True)
    _JOURNAL.parent.mkdir(parents=True)
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind(str(_JOURNAL))
    bus = socket.socket(socket.AF_UNIX)
    address.unlink(missing_ok=True)  # of a bus that was killed
    bus.bind(str(address))
    address.chmod(0o666)
    bus.listen()
    launcher = os.getpid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(1)
        while os.getppid() == launcher:  # not if it was killed before the line above
            journal.recv(1 << 20)
        os._exit(0)
    sys.stdout.write(f"unix:path={address}\n")
    sys.stdout.flush()
    os.dup2(bus.fileno(), _LISTEN_FD, inheritable=True)
    # The launcher looks for systemd on the bus that it has started: no service is activated here.
    environment = {
        **os.environ,
        "LISTEN_FDS": "1",
        "LISTEN_PID": str(os.getpid()),
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={address}",
    }
    launch = ["/usr/bin/dbus-broker-launch", "--scope", "user", "--config-file", str(configuration)]
    os.execve(launch[0], launch, environment)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
