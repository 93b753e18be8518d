"""Programs of the kernel's classic BPF, which decide what a socket receives:
https://docs.kernel.org/networking/filter.html."""

from __future__ import annotations

import socket
import struct
from array import array
from typing import Final

_ATTACH_FILTER: Final = 26
"""asm-generic/socket.h, which all architectures of Debian 12 and 13 use but MIPS."""
_INSTRUCTION: Final = struct.Struct("=HBBI")
_PROGRAM: Final = struct.Struct("@HP")
"""struct sock_filter and struct sock_fprog."""


def assembled(*instructions: tuple[int, int, int, int]) -> bytes:
    """A program of instructions: the operation, where to jump if it is true and if not, and its constant."""
    return b"".join(_INSTRUCTION.pack(*one) for one in instructions)


def attach(to: socket.socket, program: bytes) -> None:
    """Have a socket receive only what a program lets through; raises OSError."""
    instructions = array("B", program)
    address, size = instructions.buffer_info()
    to.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, _PROGRAM.pack(size // _INSTRUCTION.size, address))
