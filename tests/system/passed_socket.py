"""`passed_socket.py camera`: a service at a port, and connections to it, which it passes to whoever asks by a
UNIX socket. `passed_socket.py process`: in a unit's sandbox, uses one, tries one of its own, and writes what
came of both as JSON."""

import json
import os
import socket
import sys
import threading

PASSES = "/run/passed-socket"
HOST, PORT = "127.0.0.1", 8557
EXCHANGES, BYTES = 100, 1000


def camera() -> None:
    """Send back what comes, and pass connections."""
    threading.Thread(target=_answer, args=(socket.create_server((HOST, PORT)),), daemon=True).start()
    with socket.socket(socket.AF_UNIX) as passing:
        passing.bind(PASSES)
        os.chmod(PASSES, 0o666)  # noqa: PTH101 - for any user
        passing.listen()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
        while True:
            asker, _ = passing.accept()
            with asker, socket.create_connection((HOST, PORT)) as connection:
                socket.send_fds(asker, [b"x"], [connection.fileno()])


def _answer(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        with connection:
            while data := connection.recv(4096):
                connection.sendall(data)


def process() -> None:
    """Use a connection that is passed in."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(PASSES)
        _, [descriptor], _, _ = socket.recv_fds(asking, 1, 1)
    answered = 0
    with socket.socket(fileno=descriptor) as connection:
        connection.settimeout(10)
        for _ in range(EXCHANGES):
            connection.sendall(bytes(BYTES))
            missing = BYTES
            while missing:
                missing -= len(connection.recv(missing))
            answered += BYTES
    try:
        socket.create_connection((HOST, PORT), timeout=3).close()
        own = "done"
    except OSError:
        own = "refused"
    sys.stdout.write(json.dumps({"answered": answered, "own": own}))


if __name__ == "__main__":
    {"camera": camera, "process": process}[sys.argv[1]]()
