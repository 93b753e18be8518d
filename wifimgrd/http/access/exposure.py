"""Whether other hosts can reach the shim, by the addresses of its sockets."""

from __future__ import annotations

import socket
from collections.abc import Iterable

from wifimgrd.config.web_address import ip_address_of


def open_addresses(sockets: Iterable[socket.socket]) -> list[str]:
    """The addresses that other hosts can reach; Unix sockets are not among them."""
    names = [one.getsockname() for one in sockets if one.family in (socket.AF_INET, socket.AF_INET6)]
    return [
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        for host, port, *_ in names
        if not is_loopback(host)
    ]


def is_loopback(address: str) -> bool:
    """Whether an address is reachable only on this host; False for names."""
    parsed = ip_address_of(address)
    return parsed is not None and parsed.is_loopback


def refusal(addresses: Iterable[str]) -> str:
    """The error text: why the shim does not start there without a token, and both remedies."""
    return (
        f"{', '.join(addresses)} can be reached from other hosts, and anyone who reaches it can control the "
        "cameras: set [http] token_file, to a file with a token of at least 16 characters that every request "
        "must carry, or set [http] insecure_without_token = true, which lets every host that reaches this "
        "address, and every program there, may use, change and remove the cameras"
    )
