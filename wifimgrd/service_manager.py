"""What is said to the service manager: sd_notify(3)'s protocol, a datagram on a socket."""

from __future__ import annotations

import os
import socket


def notify(message: str) -> None:
    """Send e.g. `READY=1`, where a service manager listens; elsewhere nothing happens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        try:
            sender.sendto(message.encode(), address)
        except OSError:
            return  # a service manager that went away is no reason to stop
