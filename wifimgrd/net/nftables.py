"""libnftables, the library of `nft`: each change is one transaction, without starting a process.

https://manpages.debian.org/bookworm/libnftables1/libnftables.3.en.html
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

_LIBRARY: Final = "libnftables.so.1"
_STATELESS: Final = 1 << 2  # NFT_CTX_OUTPUT_STATELESS: no counters in listings


class NftablesError(Exception):
    """A command that the kernel or the library refused, with their error message."""


class Nftables:
    """Runs commands in the syntax of nft(8); needs CAP_NET_ADMIN. Used by one thread."""

    def __init__(self) -> None:
        """Raises OSError where the library is not installed."""
        library: Any = ctypes.CDLL(_LIBRARY)
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
        self._context = library.nft_ctx_new(0)
        if not self._context:
            raise OSError(f"{_LIBRARY} gives no context")
        library.nft_ctx_buffer_output(self._context)
        library.nft_ctx_buffer_error(self._context)
        library.nft_ctx_output_set_flags(self._context, _STATELESS)

    def run(self, commands: str) -> str:
        """Run commands, all or none, and return their output; raises NftablesError."""
        failed = self._library.nft_run_cmd_from_buffer(self._context, commands.encode())
        output: bytes = self._library.nft_ctx_get_output_buffer(self._context)
        errors: bytes = self._library.nft_ctx_get_error_buffer(self._context)
        if failed:
            raise NftablesError(errors.decode(errors="replace").strip())
        return output.decode(errors="replace")

    def close(self) -> None:
        """Free the library's context."""
        context, self._context = self._context, None
        if context:
            self._library.nft_ctx_free(context)
