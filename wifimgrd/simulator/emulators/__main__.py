"""One emulated camera as a program; see `python -m wifimgrd.simulator.emulators --help`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Final

from wifimgrd.domain.camera import CameraDriver
from wifimgrd.simulator.emulators._camera import CameraSettings, EmulatedCamera
from wifimgrd.simulator.emulators._emulators import Emulator, emulator, settings_of

_PORTS: Final = ", ".join(f"{driver} {driver.port}" for driver in CameraDriver)
_GB: Final = 1_000_000_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve a camera until SIGTERM, SIGINT, or until a client puts it to sleep."""
    parser = argparse.ArgumentParser(
        prog="python -m wifimgrd.simulator.emulators",
        description="An emulated camera: it answers as one does, and its battery and card live.",
    )
    parser.add_argument("protocol", type=CameraDriver, choices=list(CameraDriver), help="what it speaks")
    parser.add_argument(
        "--listen",
        type=_address,
        required=True,
        metavar="HOST:PORT",
        help=f"where it answers as at its own port ({_PORTS}); port 0: any",
    )
    parser.add_argument(
        "--listen-http",
        type=_address,
        metavar="HOST:PORT",
        help="where it answers as at port 80, too (gopro, insta360)",
    )
    parser.add_argument("--model", help="what it calls itself")
    parser.add_argument("--serial", metavar="NUMBER", help="its serial number")
    parser.add_argument("--firmware", metavar="VERSION", help="its firmware's version")
    parser.add_argument("--battery", type=_within(0, 100), default=80, metavar="PERCENT", help="default 80")
    parser.add_argument("--charging", action="store_true", help="it has power from outside")
    parser.add_argument(
        "--card-gb",
        type=_within(0, 4096),
        default=64,
        metavar="GB",
        help="its card's size; 0: none (default 64)",
    )
    parser.add_argument(
        "--card-free-gb", type=_within(0, 4096), metavar="GB", help="how much is free (default all)"
    )
    parser.add_argument("--recording", action="store_true", help="it records already")
    parser.add_argument(
        "--clock-offset", type=float, default=0, metavar="SECONDS", help="by how much its clock is ahead"
    )
    given = parser.parse_args(arguments)
    free = given.card_free_gb
    settings = settings_of(
        given.protocol,
        model=given.model,
        serial_number=given.serial,
        firmware_version=given.firmware,
        state=CameraSettings(
            battery=int(given.battery),
            charging=given.charging,
            card_bytes=int(given.card_gb * _GB),
            card_free_bytes=None if free is None else int(free * _GB),
            recording=given.recording,
            clock_offset_s=given.clock_offset,
        ),
    )
    try:
        asyncio.run(_serve(given.protocol, settings, given.listen, given.listen_http))
    except OSError as error:
        sys.exit(f"emulators: {error.strerror or error}")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"expected HOST:PORT, not {text!r}")
    return host, int(port)


def _within(low: float, high: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = float(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"expected {low} to {high}, not {text}")
        return value

    return number


async def _serve(
    driver: CameraDriver,
    settings: CameraSettings,
    address: tuple[str, int],
    http_address: tuple[str, int] | None,
) -> None:
    """Prints `listening on HOST:PORT` for each address once it answers there."""
    camera = EmulatedCamera(settings)
    served = emulator(driver, camera)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def sleep() -> None:
        loop.call_later(0.2, ended.set)  # after its answer

    camera.on_sleep = sleep
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with contextlib.AsyncExitStack() as servers:
        for port, where in ((driver.port, address), (80, http_address)):
            if where is not None:
                server = await servers.enter_async_context(await _listening(served, port, where))
                host, number = server.sockets[0].getsockname()[:2]
                sys.stdout.write(f"listening on {host}:{number}\n")
        sys.stdout.flush()
        await ended.wait()


async def _listening(served: Emulator, port: int, address: tuple[str, int]) -> asyncio.Server:
    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await served.serve(port, reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    return await asyncio.start_server(accepted, *address)


if __name__ == "__main__":
    main()
