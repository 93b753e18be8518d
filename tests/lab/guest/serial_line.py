"""A guest has no network: TCP connections and words for its director go through a serial line.

Both ends speak frames: kind, number of the connection, length, content. There is no flow control, so it is
for small things such as a page, not for downloads.
"""

import asyncio
import os
import tty
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from struct import Struct

HEAD = Struct("!cHH")
OPEN, DATA, CLOSE, WORD = b"O", b"D", b"C", b"W"
_CHUNK_BYTES = 4096

Word = Callable[[str], Awaitable[None]]


class SerialLine:
    """One end of it, whose connections are known by number."""

    def __init__(
        self, reader: StreamReader, writer: StreamWriter, on_word: Word, target: tuple[str, int] | None
    ) -> None:
        """`target` is where connections go that the other end opens."""
        self._reader = reader
        self._writer = writer
        self._on_word = on_word
        self._target = target
        self._ends: dict[int, StreamWriter] = {}
        self._pumps: set[asyncio.Task[None]] = set()
        self._number = 0

    async def follow(self) -> None:
        """Take in what the other end sends, until it is gone."""
        with suppress(asyncio.IncompleteReadError):
            while True:
                kind, number, length = HEAD.unpack(await self._reader.readexactly(HEAD.size))
                await self._take(kind, number, await self._reader.readexactly(length))

    async def carry(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Carry a connection that was made at this end."""
        self._number = (self._number + 1) % 65536
        self._send(OPEN, self._number)
        self._join(self._number, reader, writer)

    def say(self, word: str) -> None:
        """Send the other end's director a word."""
        self._send(WORD, 0, word.encode())

    async def _take(self, kind: bytes, number: int, content: bytes) -> None:
        match kind:
            case b"O" if self._target is not None:
                self._join(number, *await asyncio.open_connection(*self._target))
            case b"D" if number in self._ends:
                self._ends[number].write(content)
            case b"C" if number in self._ends:
                self._ends.pop(number).close()
            case b"W":
                await self._on_word(content.decode())

    def _join(self, number: int, reader: StreamReader, writer: StreamWriter) -> None:
        self._ends[number] = writer
        pump = asyncio.create_task(self._pump(number, reader))
        self._pumps.add(pump)
        pump.add_done_callback(self._pumps.discard)

    async def _pump(self, number: int, reader: StreamReader) -> None:
        with suppress(ConnectionError):
            while content := await reader.read(_CHUNK_BYTES):
                self._send(DATA, number, content)
                await self._writer.drain()
        if number in self._ends:
            self._ends.pop(number).close()
            self._send(CLOSE, number)

    def _send(self, kind: bytes, number: int, content: bytes = b"") -> None:
        self._writer.write(HEAD.pack(kind, number, len(content)) + content)


async def open_terminal(path: str) -> tuple[StreamReader, StreamWriter]:
    """The guest's end, as raw bytes."""
    terminal = os.open(path, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(terminal)
    loop = asyncio.get_running_loop()
    reader = StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(terminal, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(os.dup(terminal), "wb", 0)
    )
    return reader, StreamWriter(transport, protocol, None, loop)
