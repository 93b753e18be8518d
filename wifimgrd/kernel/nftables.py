"""libnftables, the library of `nft`: each change is one transaction, without starting a process.

https://manpages.debian.org/bookworm/libnftables1/libnftables.3.en.html
"""

from __future__ import annotations

import ctypes
import os
import socket
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from wifimgrd.kernel._messages import REQUEST, Message, attributes, messages, request

_LIBRARY: Final = "libnftables.so.1"
_NETLINK_NETFILTER: Final = 12
_NEW_GENERATION, _GET_GENERATION = 10 << 8 | 15, 10 << 8 | 16
"""NFT_MSG_NEWGEN and NFT_MSG_GETGEN of linux/netfilter/nf_tables.h."""
_HEADER_SIZE: Final = 4
"""struct nfgenmsg."""
_NUMBER: Final = 1
"""NFTA_GEN_ID."""
_ANSWER_S: Final = 5.0
_LARGEST: Final = 1 << 16
_STATELESS: Final = 1 << 2  # NFT_CTX_OUTPUT_STATELESS: no counters in listings


class NftablesError(Exception):
    """A command that the kernel or the library refused, with their error message."""


class Nftables:
    """Runs commands in the syntax of nft(8); needs CAP_NET_ADMIN. Used by one thread."""

    def __init__(self) -> None:
        """Raises OSError where the library is not installed."""
        library = ctypes.CDLL(_LIBRARY)
        library.nft_ctx_new.restype = ctypes.c_void_p
        library.nft_ctx_new.argtypes = [ctypes.c_uint32]
        for name in ("nft_ctx_buffer_output", "nft_ctx_buffer_error", "nft_ctx_free"):
            getattr(library, name).argtypes = [ctypes.c_void_p]
        for name in ("nft_ctx_get_output_buffer", "nft_ctx_get_error_buffer"):
            getattr(library, name).argtypes = [ctypes.c_void_p]
            getattr(library, name).restype = ctypes.c_char_p
        library.nft_ctx_output_set_flags.argtypes = [ctypes.c_void_p, ctypes.c_uint]
        library.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self._library = library
        before = _sockets()
        self._context = library.nft_ctx_new(0)
        if not self._context:
            raise OSError(f"{_LIBRARY} gives no context")
        opened = [descriptor for inode, descriptor in _sockets().items() if inode not in before]
        self.port = _port(opened[0]) if opened else -1
        """The netlink port that its transactions come from."""
        library.nft_ctx_buffer_output(self._context)
        library.nft_ctx_buffer_error(self._context)
        library.nft_ctx_output_set_flags(self._context, _STATELESS)
        # Kept open: the kernel frees what a transaction has deleted after a while, and one who closes such a
        # socket meanwhile waits for that.
        self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
        self._netlink.settimeout(_ANSWER_S)
        self._numbers = count(1)

    def run(self, commands: str) -> str:
        """Run commands, all or none, and return their output; raises NftablesError."""
        failed = self._library.nft_run_cmd_from_buffer(self._context, commands.encode())
        output: bytes = self._library.nft_ctx_get_output_buffer(self._context)
        errors: bytes = self._library.nft_ctx_get_error_buffer(self._context)
        if failed:
            raise NftablesError(errors.decode(errors="replace").strip())
        return output.decode(errors="replace")

    def generation(self) -> int:
        """The number of the last transaction, by whichever program; raises NftablesError."""
        asked = next(self._numbers)
        try:
            self._netlink.send(request(_GET_GENERATION, REQUEST, bytes(_HEADER_SIZE), asked))
            while True:  # a late answer to an earlier request can come first
                for message in messages(self._netlink.recv(_LARGEST)):
                    if message.sequence == asked:
                        return _generation_in(message)
        except OSError as error:
            raise NftablesError(f"the number of the last transaction is not known: {error}") from None

    def close(self) -> None:
        """Free the library's context and the socket."""
        self._netlink.close()
        context, self._context = self._context, None
        if context:
            self._library.nft_ctx_free(context)


def _generation_in(message: Message) -> int:
    if message.kind != _NEW_GENERATION:
        raise NftablesError("the kernel does not know the number of the last transaction")
    return int.from_bytes(attributes(message.body, _HEADER_SIZE).get(_NUMBER, b""))


def _sockets() -> dict[int, int]:
    """The descriptors of this process's netlink sockets for Netfilter, by their inodes."""
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        descriptor = int(entry.name)
        with suppress(OSError):  # the one that reads this list is closed by now
            status = os.fstat(descriptor)
            if stat.S_ISSOCK(status.st_mode):
                with _duplicate(descriptor) as one:
                    if (one.family, one.proto) == (socket.AF_NETLINK, _NETLINK_NETFILTER):
                        found[status.st_ino] = descriptor
    return found


def _duplicate(descriptor: int) -> socket.socket:
    return socket.socket(fileno=os.dup(descriptor))


def _port(descriptor: int) -> int:
    """The port of a netlink socket, which the kernel otherwise gives it with its first message."""
    with _duplicate(descriptor) as netlink:
        if netlink.getsockname()[0] == 0:
            netlink.bind((0, 0))
        return int(netlink.getsockname()[0])
