"""A sender of one datagram, 50,000 times a second, as a process: `python -m tests.mavlink.flood PORT`; the
datagram is read from standard input."""

from __future__ import annotations

import socket
import sys
import time

A_SECOND = 50_000
AT_ONCE = 500


def main() -> None:
    datagram = sys.stdin.buffer.read()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", int(sys.argv[1])))
        sys.stdout.write("sending\n")
        sys.stdout.flush()
        due_s = time.monotonic()
        while True:
            for _ in range(AT_ONCE):
                try:
                    sender.send(datagram)
                except OSError:
                    continue
            due_s += AT_ONCE / A_SECOND
            time.sleep(max(0.0, due_s - time.monotonic()))


if __name__ == "__main__":
    main()
