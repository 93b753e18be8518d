"""The running product on real 802.11, for a browser on the other side of the serial line.

Two adapters and one camera, A. The director's words: `kill` cuts its power, `on` switches it on; each is
answered by itself once it is done. `ready` comes first; `end` ends it all, and so does `fail`, with status 1,
for which the lab keeps the journal.
"""

import asyncio
import sys
from pathlib import Path

from .access_point import Camera
from .adapters import plug_in
from .namespace import run
from .serial_line import SerialLine, open_terminal
from .whole_hub import whole_hub

SERIAL_LINE = "/dev/ttyS0"
SHIM = ("127.0.0.1", 8080)
_NM_CONFIGURATION = "[main]\nno-auto-default=*\n"


def set_up() -> Camera:
    """Two adapters and a camera."""
    configuration = Path("/run/NetworkManager/conf.d/lab.conf")
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text(_NM_CONFIGURATION)
    run("systemctl", "start", "NetworkManager.service")
    for port in ("1.1", "1.2"):
        plug_in(port)
    camera = Camera("A")
    camera.start()
    return camera


async def play(camera: Camera) -> int:
    """Obey the director to the end; the exit status."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    async def obey(word: str) -> None:
        match word:
            case "kill":
                camera.kill()
            case "on":
                camera.on()
            case "end" | "fail":
                ended.set_result(int(word == "fail"))
        line.say(word)

    async with whole_hub("[link]\ngrace_s = 2\n") as hub:
        for name in ("wlan0", "wlan1"):
            await hub.interface_state(name, "available")
        line = SerialLine(*await open_terminal(SERIAL_LINE), obey, SHIM)
        following = asyncio.create_task(line.follow())
        line.say("ready")
        status = await ended
        following.cancel()
    return status


sys.exit(asyncio.run(play(set_up())))
