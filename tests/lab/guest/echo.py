"""A UDP server on port 7 that answers with its camera's name and what it was sent."""

import socket
import sys


def main() -> None:
    """Serve until it is ended."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("0.0.0.0", 7))
    while True:
        octets, sender = server.recvfrom(2048)
        server.sendto(sys.argv[1].encode() + b" " + octets, sender)


if __name__ == "__main__":
    main()
