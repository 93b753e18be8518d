"""The relay to cameras: all that HTTP and WebSocket can do reaches the one camera, and nothing else."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from wifimgrd.dbus.client.records import DeviceRecord
from wifimgrd.http.cameras import AT_ONCE
from wifimgrd.http.settings import Settings

ADDRESS = "127.0.0.77"
"""The camera's; `lo` stands for the adapter."""
CONNECTED = DeviceRecord(3, "Front", state="connected", interface="lo", camera_address=ADDRESS)


@dataclass
class Camera:
    """A camera's web server, and what it was asked."""

    asked: list[web.Request] = field(default_factory=list)
    arrivals: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        self.arrivals.put_nowait(request.path)
        match request.path:
            case "/echo":
                body = await request.read()
                return web.Response(body=body, status=202, headers={"X-Length": str(request.content_length)})
            case "/stream":
                response = web.StreamResponse()
                await response.prepare(request)
                await response.write(b"first")
                await self.gate.wait()
                await response.write(b"second")
                await response.write_eof()
                return response
            case "/cut":
                response = web.StreamResponse(headers={"Content-Length": "100"})
                await response.prepare(request)
                await response.write(b"part")
                assert request.transport is not None
                request.transport.abort()
                return response
            case "/moved":
                return web.Response(status=302, headers={"Location": request.query["to"]})
            case "/cookie":
                response = web.Response()
                response.headers.add("Set-Cookie", f"a=1; Path=/osc; Domain={ADDRESS}; HttpOnly")
                response.headers.add("Set-Cookie", "b=2")
                return response
            case "/packed":
                packed = gzip.compress(b"packed")
                return web.Response(body=packed, headers={"Content-Encoding": "gzip"})
            case "/socket":
                socket = web.WebSocketResponse(protocols=("osc",))
                await socket.prepare(request)
                async for message in socket:
                    if message.data == "bye":
                        await socket.close(code=4001)
                    elif message.type is aiohttp.WSMsgType.BINARY:
                        await socket.send_bytes(message.data[::-1])
                    else:
                        await socket.send_str(message.data.upper())
                return socket
            case "/hold":
                await self.gate.wait()
        return web.Response(text=request.raw_path)


@pytest.fixture
async def camera() -> AsyncIterator[Camera]:
    camera = Camera()
    app = web.Application(client_max_size=0)
    app.router.add_route("*", "/{rest:.*}", camera.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, ADDRESS, 80).start()
    yield camera
    camera.gate.set()
    await runner.cleanup()


@pytest.fixture
async def relay(camera: Camera, fake_hub: FakeHub, served: Served) -> Served:
    fake_hub.appear(CONNECTED)
    return served


async def test_paths_reach_the_camera_as_they_were_sent(relay: Served) -> None:
    for path in ("/", "/osc/info", "/a%2Fb//c/../d?x=1&x=%20#".rstrip("#"), "/DCIM/100%25/"):
        octets = f"GET /cameras/3{path} HTTP/1.1\r\nHost: {relay.host}\r\nConnection: close\r\n\r\n"
        answer = await relay.raw(octets.encode())
        assert answer.endswith(b"\r\n\r\n" + path.encode()) or path.encode() in answer


async def test_bodies_are_streamed_both_ways(relay: Served, camera: Camera) -> None:
    large = bytes(range(256)) * 4096
    answer = await relay.post("/cameras/3/echo", data=large)
    assert (answer.status, answer.octets, answer.headers["X-Length"]) == (202, large, str(len(large)))

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(16):
            yield large[:65536]

    answer = await relay.ask("PUT", "/cameras/3/echo", data=pieces())
    assert (answer.octets, answer.headers["X-Length"]) == (large, "None")
    async with relay.session.get(relay.url + "/cameras/3/stream") as stream:
        assert await stream.content.readexactly(5) == b"first"
        camera.gate.set()
        assert await stream.content.read() == b"second"


async def test_an_answer_that_breaks_off_is_not_made_whole(relay: Served) -> None:
    with pytest.raises((aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError)):
        await relay.get("/cameras/3/cut")


async def test_what_is_packed_stays_packed(relay: Served) -> None:
    async with relay.session.get(relay.url + "/cameras/3/packed") as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert await answer.read() == b"packed"


@pytest.mark.parametrize(
    ("said", "passed_on"),
    [
        ("/osc/info?a=b", "/cameras/3/osc/info?a=b"),
        (f"http://{ADDRESS}/x", "/cameras/3/x"),
        (f"http://{ADDRESS}:80", "/cameras/3/"),
        (f"//{ADDRESS}/x", "/cameras/3/x"),
        ("beside", "beside"),
        ("http://127.0.0.1:8080/x", None),
        (f"http://{ADDRESS}:8080/x", None),
        ("//example.org/", None),
        (f"ftp://{ADDRESS}/x", None),
    ],
)
async def test_a_location_stays_with_the_camera(relay: Served, said: str, passed_on: str | None) -> None:
    answer = await relay.get("/cameras/3/moved", params={"to": said})
    assert (answer.status, answer.headers.get("Location")) == (302, passed_on)


async def test_cookies_are_for_that_camera_alone(relay: Served, camera: Camera) -> None:
    async with relay.session.get(relay.url + "/cameras/3/cookie") as answer:
        assert answer.headers.getall("Set-Cookie") == [
            "a=1; Path=/cameras/3/osc; HttpOnly",
            "b=2; Path=/cameras/3/",
        ]
    await relay.get("/cameras/3/", headers={"Cookie": "a=1; wifimgrd_session=secret; b=2"})
    assert camera.asked[-1].headers["Cookie"] == "a=1; b=2"


async def test_the_camera_learns_nothing_of_who_asks_and_its_page_gets_no_rights(
    relay: Served, camera: Camera
) -> None:
    answer = await relay.get(
        "/cameras/3/",
        headers={
            "Referer": relay.url + "/",
            "X-Forwarded-For": "1.2.3.4",
            "Connection": "X-Hop",
            "X-Hop": "1",
            "X-Own": "1",
        },
    )
    headers = camera.asked[-1].headers
    assert headers["Host"] == ADDRESS
    assert headers["X-Own"] == "1"
    assert not headers.keys() & {"Referer", "X-Forwarded-For", "X-Hop", "Origin"}
    assert answer.headers["Content-Security-Policy"] == "sandbox"


async def test_websockets_are_passed_on(relay: Served, camera: Camera) -> None:
    socket = await relay.session.ws_connect(relay.url + "/cameras/3/socket", protocols=("mqtt", "osc"))
    assert socket.protocol == "osc"
    await socket.send_str("hello")
    assert (await socket.receive()).data == "HELLO"
    await socket.send_bytes(b"\x00\x01")
    assert (await socket.receive()).data == b"\x01\x00"
    await socket.send_str("bye")
    assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
    assert socket.close_code == 4001


@pytest.mark.parametrize("state", ["disconnected", "connecting", "disconnecting"])
async def test_a_camera_that_is_not_connected_is_409(served: Served, fake_hub: FakeHub, state: str) -> None:
    fake_hub.appear(DeviceRecord(3, state=state, interface="lo"))
    answer = await served.get("/cameras/3/")
    assert (answer.status, answer.problem["code"]) == (409, "device-not-reachable")


async def test_a_camera_that_does_not_answer_is_504(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(CONNECTED, DeviceRecord(4, state="connected", interface="no9", camera_address=ADDRESS))
    for number in (3, 4):
        answer = await served.get(f"/cameras/{number}/")
        assert (answer.status, answer.problem["code"]) == (504, "device-not-reachable")


async def test_an_unknown_camera_is_404_and_no_id_is_400(relay: Served, fake_hub: FakeHub) -> None:
    assert (await relay.get("/cameras/9/")).problem["code"] == "device-not-found"
    assert (await relay.get("/cameras/x/")).problem["code"] == "invalid-request"
    fake_hub.vanish()
    assert (await relay.get("/cameras/3/")).status == 503


async def test_the_absolute_form_leads_nowhere(relay: Served, camera: Camera) -> None:
    request = (
        f"GET http://{relay.host}/cameras/3/ HTTP/1.1\r\nHost: {relay.host}\r\nConnection: close\r\n\r\n"
    )
    assert b" 400 " in (await relay.raw(request.encode(), first_line=True))
    assert camera.asked == []


async def test_another_site_cannot_reach_a_camera(relay: Served, camera: Camera) -> None:
    answer = await relay.get("/cameras/3/", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 403
    assert camera.asked == []


async def test_a_camera_has_so_many_connections_and_no_more(relay: Served, camera: Camera) -> None:
    held = [asyncio.create_task(relay.get("/cameras/3/hold")) for _ in range(AT_ONCE)]
    async with asyncio.timeout(10):
        for _ in held:
            await camera.arrivals.get()
    assert (await relay.get("/cameras/3/")).problem["code"] == "busy"
    camera.gate.set()
    assert {(await one).status for one in held} == {200}
    assert (await relay.get("/cameras/3/")).status == 200


class TestWithToken:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(token="our-token")

    async def test_our_token_is_not_the_cameras(self, relay: Served, camera: Camera) -> None:
        assert (await relay.get("/cameras/3/")).status == 401
        answer = await relay.get("/cameras/3/", headers={"Authorization": "Bearer our-token"})
        assert answer.status == 200
        assert "Authorization" not in camera.asked[-1].headers
