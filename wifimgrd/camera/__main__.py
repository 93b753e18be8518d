"""`wifimgrd-camera`: the command line, start and stop of the process that speaks with cameras."""

from __future__ import annotations

import sys

# As in the daemon: no TLS, which takes 4 MB, and no compression. Must come before anything that imports
# asyncio.
for _unused in ("ssl", "bz2", "lzma"):
    sys.modules[_unused] = None  # type: ignore[assignment]

import asyncio
from typing import Final

from wifimgrd.bus.connection import BusConnection
from wifimgrd.camera._service import CameraService
from wifimgrd.camera.conversations import now_us
from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire.private_process import command_line, process, serve, uid_of

_PROGRAM: Final = "wifimgrd-camera"


def main() -> None:
    """Run until nothing was under way for `--linger`, SIGTERM or SIGINT; see `wifimgrd-camera --help`."""
    arguments = command_line(
        _PROGRAM,
        "Finds, pairs and wakes cameras over Bluetooth LE; reads and commands connected ones.",
        linger_s=30.0,
        lingering="how long it stays while nothing is under way and no camera is connected",
    ).parse_args()
    with process(_PROGRAM):
        asyncio.run(_serve(arguments.bus, uid_of(arguments.user), arguments.linger))


async def _serve(bus: str, uid: int, linger_s: float) -> None:
    connection = await BusConnection.open(bus, sockets=True)
    tasks = Tasks(_PROGRAM)
    sessions = CameraSessions(tasks.part("cameras"), now_us)
    try:
        service = CameraService(connection, uid, linger_s, tasks.part("service"), sessions)
        await serve(service, connection, tasks, bus)
    finally:
        await connection.close()


if __name__ == "__main__":
    main()
