"""The real daemon on its simulated world, whose cameras have a network: each interface leads to a port of
this host. Run as a program; the first argument names the ports, the others are the daemon's."""

from __future__ import annotations

import socket
import sys
from ipaddress import IPv4Address

from wifimgrd.domain.addresses import SocketKind
from wifimgrd.kernel.sockets import open_socket
from wifimgrd.simulator._sockets import SimulatedSockets


def daemon_with_cameras(ports: dict[str, int]) -> tuple[str, ...]:
    """How to start it: `ports` are those of the cameras, by interface."""
    return (sys.executable, __file__, " ".join(f"{name}={port}" for name, port in ports.items()))


def _main() -> None:
    # Not above: it forbids TLS to the whole process.
    from wifimgrd.daemon import __main__ as program  # noqa: PLC0415

    ports = dict(one.split("=") for one in sys.argv.pop(1).split())

    async def open_at_port(
        self: SimulatedSockets, device_id: int, interface: str, address: str, port: int, kind: SocketKind
    ) -> socket.socket:
        return await open_socket("lo", IPv4Address("127.0.0.1"), int(ports[interface]), kind)

    SimulatedSockets.open = open_at_port  # type: ignore[method-assign]
    program.main()


if __name__ == "__main__":
    _main()
