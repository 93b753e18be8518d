"""Runs in a network namespace of its own: the shim, on a host that has loopback and nothing else, and
curl. `python -m tests.http.tiles.cable_out CONFIG PATH...` prints the interfaces, then what curl got for
each path, as JSON."""

from __future__ import annotations

import fcntl
import json
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path

_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def main() -> None:
    config, *paths = sys.argv[1:]
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
    shim = Path(sys.executable).with_name("wifimgrd-http")
    command = [str(shim), "--bus", "unix:path=/nowhere", "--config", config, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = next(
            found[1] for line in process.stderr if (found := re.search(r"\burl=(\S+)/", line)) is not None
        )
        answers = [_curl(address + path) for path in paths]
        process.terminate()
    sys.stdout.write(
        json.dumps({"interfaces": [name for _, name in socket.if_nameindex()], "answers": answers})
    )


def _curl(url: str) -> dict[str, str]:
    """What plain curl got: status, type, and body in hexadecimal."""
    command = [
        "curl",
        "--silent",
        "--show-error",
        "--max-time",
        "10",
        "--write-out",
        "\n%{http_code} %{content_type}",
    ]
    reported = subprocess.run([*command, url], check=True, capture_output=True).stdout
    body, _, status = reported.rpartition(b"\n")
    return {"status": status.decode(), "body": body.hex()}


if __name__ == "__main__":
    main()
