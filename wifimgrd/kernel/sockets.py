"""Sockets to a camera through its own interface, which distinguishes cameras with equal addresses."""

from __future__ import annotations

import asyncio
import errno
import socket
from ipaddress import IPv4Address
from typing import Final

from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.errors import (
    BackendUnavailable,
    DeviceNotReachable,
    ServiceRefused,
    WifimgrdError,
)
from wifimgrd.domain.interface import absent
from wifimgrd.kernel._packet_filter import assembled, attach

CONNECT_S: Final = 5.0
_SO_LOCK_FILTER: Final = 44
"""asm-generic/socket.h; Python has no name for it."""
_LOAD_WORD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_NETWORK_HEADER: Final = 0xFFF00000  # SKF_NET_OFF
_SOURCE_OFFSET: Final = 12  # RFC 791, 3.1
_WHOLE_PACKET: Final = 0xFFFFFFFF
_TYPES: Final = {SocketKind.TCP: socket.SOCK_STREAM, SocketKind.UDP: socket.SOCK_DGRAM}


async def open_socket(
    interface: str, address: IPv4Address, port: int, kind: SocketKind, mark: int | None = None
) -> socket.socket:
    """A non-blocking socket that is connected through `interface`, to a host on that link only.

    Binding to an interface needs no privilege since Linux 5.7. Whoever gets the socket can connect it again,
    and a UDP socket is no longer bound to an interface once its association is dissolved (__udp_disconnect).
    So the nftables rules drop packets with `mark`, which needs CAP_NET_ADMIN, unless they go to the camera,
    and the kernel drops packets that come from another host (SO_LOCK_FILTER).

    Raises DeviceNotReachable, InterfaceLost, and BackendUnavailable where this process has no network.
    """
    try:
        one = socket.socket(socket.AF_INET, _TYPES[kind] | socket.SOCK_NONBLOCK)
    except OSError as error:
        raise BackendUnavailable(f"this process cannot open sockets: {error.strerror}") from None
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        one.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, 1)
        if mark is not None:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
            _receive_only_from(one, address)
        async with asyncio.timeout(CONNECT_S):
            await asyncio.get_running_loop().sock_connect(one, (str(address), port))
    except OSError as error:  # TimeoutError is one
        one.close()
        raise _reason(error, interface, f"{address} port {port}") from None
    except BaseException:
        one.close()
        raise
    return one


def _receive_only_from(one: socket.socket, address: IPv4Address) -> None:
    """Attach a filter for the source address, and lock it."""
    program = assembled(
        (_LOAD_WORD, 0, 0, _NETWORK_HEADER + _SOURCE_OFFSET),
        (_JUMP_EQUAL, 0, 1, int(address)),
        (_RETURN, 0, 0, _WHOLE_PACKET),
        (_RETURN, 0, 0, 0),
    )
    attach(one, program)
    one.setsockopt(socket.SOL_SOCKET, _SO_LOCK_FILTER, 1)


def _reason(error: OSError, interface: str, where: str) -> WifimgrdError:
    if error.errno == errno.ENODEV:
        return absent(interface)
    reason = error.strerror or f"no answer within {CONNECT_S:g} s"
    kind = ServiceRefused if error.errno == errno.ECONNREFUSED else DeviceNotReachable
    return kind(f"the camera does not answer at {where}: {reason}")
