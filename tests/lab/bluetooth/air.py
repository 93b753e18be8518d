"""The process with the guest's emulated adapter and the cameras: python3 -m tests.lab.bluetooth.air SOCKET.

A client of the socket sends JSON objects, one in a line, and gets one for each: `{"do": "gopro", "number":
"1001"}` adds a camera; `{"do": "set", "camera": "1001", "boot_s": 2}` sets what it does; see `_Control`.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from bumble.transport import open_transport

from .cameras import Camera, GoPro, Insta360, Theta
from .radio import Air, HostRadio

_ADDRESS = "00:1A:7D:DA:71:10"
_PLAIN = (bool, int, float, str, list)


class _Control:
    """What a test does, by the name in `do`."""

    def __init__(self, air: Air, adapter: "_Adapter") -> None:
        self._air = air
        self._adapter = adapter
        self._cameras: dict[str, Camera | Insta360] = {}
        self._commands: dict[str, Callable[..., Awaitable[None]]] = {
            "gopro": self._add_gopro,
            "theta": self._add_theta,
            "insta360": self._add_insta360,
            "set": self._set,
            "forget": self._forget,
            "become_keyboard": self._become_keyboard,
            "leave": self._leave,
            "come_back": self._come_back,
            "doze": self._doze,
            "hang": self._hang,
            "lose_links": self._lose_links,
            "lose_first_packets": self._lose_first_packets,
            "unplug": self._unplug,
            "plug_in": self._plug_in,
            "adapter": self._nothing,
            "state": self._nothing,
        }

    async def answer(self, line: bytes) -> dict[str, Any]:
        """Carry out a line, and return the camera's state."""
        request = json.loads(line)
        name = request.pop("camera", request.get("number", ""))
        try:
            await self._commands[request.pop("do")](name, **request)
        except Exception as error:  # noqa: BLE001 - the test is told
            return {"error": repr(error)}
        if not name:
            return self._adapter.state
        camera = self._cameras[name]
        state = {key: value for key, value in vars(camera).items() if isinstance(value, _PLAIN)}
        if isinstance(camera, Camera):
            state["bonds"] = len(camera.bonds.all_keys)
            state["connected"] = camera.connection is not None
            state["events"] = camera.events[-40:]
        else:
            state["heard"] = [data.hex() for data in camera.heard]
        return state

    def _camera(self, name: str) -> Camera:
        camera = self._cameras[name]
        assert isinstance(camera, Camera)
        return camera

    async def _add_gopro(self, name: str, number: str, **given: Any) -> None:
        await self._add(name, GoPro(self._air, number, **given))

    async def _add_theta(self, name: str, number: str) -> None:
        await self._add(name, Theta(self._air, number))

    async def _add_insta360(self, name: str) -> None:
        self._cameras[name] = Insta360(self._air, name)

    async def _add(self, name: str, camera: Camera) -> None:
        if name in self._cameras:
            raise ValueError(f"{name} is there already")
        self._cameras[name] = camera
        await camera.start()

    async def _set(self, name: str, **values: Any) -> None:
        for key, value in values.items():
            assert hasattr(self._camera(name), key), key
            setattr(self._camera(name), key, value)
        await self._camera(name).advertise()

    async def _forget(self, name: str, pairing_mode: bool = True) -> None:
        await self._camera(name).forget(pairing_mode=pairing_mode)

    async def _become_keyboard(self, name: str) -> None:
        self._camera(name).become_keyboard()

    async def _leave(self, name: str) -> None:
        self._camera(name).leave()

    async def _come_back(self, name: str) -> None:
        await self._camera(name).come_back()

    async def _doze(self, name: str) -> None:
        camera = self._cameras[name]
        if isinstance(camera, Insta360):
            camera.awake = False
        else:
            assert isinstance(camera, GoPro)
            await camera.doze()

    async def _hang(self, name: str, value: bool = True) -> None:
        self._camera(name).radio.hangs = value

    async def _lose_links(self, name: str) -> None:
        self._camera(name).radio.lose_links()

    async def _lose_first_packets(self, name: str, connections: int) -> None:
        self._camera(name).radio.lost_connections = connections

    async def _unplug(self, _: str) -> None:
        await self._adapter.unplug()

    async def _plug_in(self, _: str) -> None:
        await self._adapter.plug_in()

    async def _nothing(self, _: str) -> None:
        return


class _Adapter:
    """The guest's adapter, which can be pulled."""

    def __init__(self, air: Air) -> None:
        self._air = air
        self._transport: Any = None
        self._radio: HostRadio | None = None

    async def plug_in(self) -> None:
        """The kernel gets it."""
        transport = self._transport = await open_transport("vhci")
        self._radio = HostRadio(
            "hci0",
            host_source=transport.source,
            host_sink=transport.sink,
            link=self._air,
            public_address=_ADDRESS,
        )

    @property
    def state(self) -> dict[str, Any]:
        """Whether it is there, and listens: to find cameras, or one that it waits for to connect."""
        return {
            "is_there": self._radio is not None,
            "listens": self._radio is not None and bool(self._radio.le_scan_enable),
        }

    async def unplug(self) -> None:
        """The kernel loses it, and the cameras their links."""
        if self._radio is not None:
            self._radio.lose_links()
            self._air.remove_controller(self._radio)
            self._radio = None
        await self._transport.close()


async def _main(path: str) -> None:
    air = Air()
    adapter = _Adapter(air)
    await adapter.plug_in()
    control = _Control(air, adapter)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(await control.answer(line)).encode() + b"\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(serve, path)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
