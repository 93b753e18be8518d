"""The relay to cameras: all that HTTP and WebSocket can do reaches the one camera, and nothing else."""

from __future__ import annotations

import asyncio
import base64
import fcntl
import gzip
import hashlib
import re
import resource
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDict
from structlog.testing import capture_logs

from tests.http.channel.test_channel import register
from tests.http.fake_hub import FakeHub
from tests.http.served import Answer, P, Served
from tests.stream_server import stream_server
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http import _client as client
from wifimgrd.http.front.connection import FrontConnection
from wifimgrd.http.relay import cameras as cameras_module
from wifimgrd.http.relay._headers import from_camera
from wifimgrd.http.relay._references import CameraPage
from wifimgrd.http.relay.cameras import AT_ONCE
from wifimgrd.http.settings import Settings

ADDRESS = "127.0.0.77"
"""The camera's; `lo` stands for the adapter."""
LOCK = Path(tempfile.gettempdir(), "wifimgrd-tests-camera.lock")
"""Other processes run these tests at the same time, and there is one port 80."""
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
                return web.Response(body=body, status=202, headers={"ETag": f'"{request.content_length}"'})
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
            case "/deep/moved":
                field = request.query.get("field", "Location")
                return web.Response(status=302, headers={field: request.query["to"]})
            case "/cookie":
                response = web.Response()
                response.headers.add("Set-Cookie", f"a=1; Path=/osc; Domain={ADDRESS}; HttpOnly")
                response.headers.add("Set-Cookie", "b=2")
                return response
            case "/packed":
                packed = gzip.compress(b"packed")
                return web.Response(body=packed, headers={"Content-Encoding": "gzip"})
            case "/socket":
                channel = web.WebSocketResponse(protocols=("osc",))
                await channel.prepare(request)
                async for message in channel:
                    if message.data == "bye":
                        await channel.close(code=4001)
                    elif message.type is aiohttp.WSMsgType.BINARY:
                        await channel.send_bytes(message.data[::-1])
                    else:
                        await channel.send_str(message.data.upper())
                return channel
            case "/hold":
                await self.gate.wait()
        return web.Response(text=request.raw_path)


@pytest.fixture
def port_80() -> Iterator[None]:
    """The right to listen there."""
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
async def camera(port_80: None) -> AsyncIterator[Camera]:
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
        raw = f"GET /cameras/3{path} HTTP/1.1\r\nHost: {relay.host}\r\nConnection: close\r\n\r\n"
        answer = await relay.raw(raw.encode())
        assert answer.endswith(b"\r\n\r\n" + path.encode()) or path.encode() in answer


async def test_a_fragment_is_no_part_of_what_the_camera_gets(relay: Served, camera: Camera) -> None:
    await relay.raw(b"GET /cameras/3/a?b=c#d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert [request.raw_path for request in camera.asked] == ["/a?b=c"]


async def test_the_examples_of_the_description_reach_the_camera(
    relay: Served, fake_hub: FakeHub, camera: Camera
) -> None:
    fake_hub.appear(replace(CONNECTED, id=1))
    paths = (await relay.get("/openapi.json")).json["paths"]
    methods = paths[path := "/cameras/{id}/{rest}"]
    for method, details in methods.items():
        address = path
        for one in details["parameters"]:
            address = address.replace(f"{{{one['name']}}}", str(one["example"]))
        answer = await relay.ask(method.upper(), address)
        assert (method, str(answer.status)) == (method, next(iter(details["responses"])))
    assert [one.method.lower() for one in camera.asked] == [*methods]
    assert {one.path for one in camera.asked} == {"/osc/info"}


async def test_bodies_are_streamed_both_ways(relay: Served, camera: Camera) -> None:
    large = bytes(range(256)) * 4096
    answer = await relay.post("/cameras/3/echo", data=large)
    assert (answer.status, answer.data, answer.headers["ETag"]) == (202, large, f'"{len(large)}"')

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(16):
            yield large[:65536]

    answer = await relay.ask("PUT", "/cameras/3/echo", data=pieces())
    assert (answer.data, answer.headers["ETag"]) == (large, '"None"')
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
        (f"https://{ADDRESS}/x", None),
        (f"http:{ADDRESS}/x", None),
        (f"http:///{ADDRESS}/x", "/cameras/3/x"),
        (f"http://user@{ADDRESS}/x", None),
        ("../beside", "../beside"),
        ("..", ".."),
        ("../..", None),
        ("../../plugin-views/x", None),
        ("../%2E./plugin-views/x", None),
        ("..\\..\\plugin-views/x", None),
        (".\t./../plugin-views/x", None),
        (" ../../plugin-views/x", None),
        ("/..", None),
        ("/../plugin-views/x", None),
        ("/../30/x", None),
        ("/%2e%2e/plugin-views/x", None),
        ("/a/.%2e/b", "/cameras/3/b"),
        ("/a/./..//../b", "/cameras/3/b"),
        ("\\plugin-views/x", "/cameras/3/plugin-views/x"),
        ("\\\\example.org/", None),
        ("/\\example.org/", None),
        ("\\../plugin-views", None),
        (f"http://{ADDRESS}/../plugin-views", None),
        (f"http:\\\\{ADDRESS}\\x", "/cameras/3/x"),
        ("javascript:alert(1)", None),
        ("?a=/../..#/../..", "?a=/../..#/../.."),
    ],
)
@pytest.mark.parametrize("field", ["Location", "Content-Location"])
async def test_a_location_stays_with_the_camera(
    relay: Served, field: str, said: str, passed_on: str | None
) -> None:
    answer = await relay.get("/cameras/3/deep/moved", params={"to": said, "field": field})
    assert (answer.status, answer.headers.get(field)) == (302, passed_on)


async def test_a_refresh_is_left_out(relay: Served) -> None:
    answer = await relay.get("/cameras/3/deep/moved", params={"to": "0; url=/x", "field": "Refresh"})
    assert "Refresh" not in answer.headers


@pytest.mark.parametrize(
    ("said", "passed_on"),
    [
        ("</x>; rel=next", "</cameras/3/x>; rel=next"),
        (
            "<a>; rel=next, </../x>; rel=prev, <?b>",
            "</cameras/3/deep/a>; rel=next, </cameras/3/deep/moved?b>",
        ),
        ('<a>; title="a, <b>", <c>', None),
        ('<a>; title="a, b", <c>', '</cameras/3/deep/a>; title="a, b", </cameras/3/deep/c>'),
        ("<//example.org>; rel=preconnect", None),
        ("<../../assets/x.js>; rel=preload", None),
        ("x", None),
        ("<a", None),
    ],
)
async def test_links_stay_with_the_camera(relay: Served, said: str, passed_on: str | None) -> None:
    answer = await relay.get("/cameras/3/deep/moved", params={"to": said, "field": "Link"})
    assert answer.headers.get("Link") == passed_on


async def test_cookies_are_for_that_camera_alone(relay: Served, camera: Camera) -> None:
    async with relay.session.get(relay.url + "/cameras/3/cookie") as answer:
        assert answer.headers.getall("Set-Cookie") == [
            "wifimgrd_camera_3_a=1; Path=/cameras/3/osc; HttpOnly",
            "wifimgrd_camera_3_b=2; Path=/cameras/3/",
        ]
    cookies = "a=9; wifimgrd_camera_3_a=1; wifimgrd_session=secret; wifimgrd_camera_30_b=9; csrftoken=9; x"
    await relay.get("/cameras/3/", headers={"Cookie": f"{cookies}; wifimgrd_camera_3_b=2"})
    assert camera.asked[-1].headers["Cookie"] == "a=1; b=2"
    await relay.get("/cameras/3/", headers={"Cookie": "sessionid=secret"})
    assert "Cookie" not in camera.asked[-1].headers


def test_cookies_are_secure_over_tls_alone() -> None:
    said = CIMultiDict({"Set-Cookie": "a=1; Secure; HttpOnly"})
    for secure, end in ((True, "HttpOnly; Secure"), (False, "HttpOnly")):
        page = CameraPage(ADDRESS, "/cameras/3", "/cameras/3/", secure)
        cookie = from_camera(said, page, 3)["Set-Cookie"]
        assert cookie == f"wifimgrd_camera_3_a=1; Path=/cameras/3/; {end}"


@pytest.mark.parametrize("scheme", ["Bearer", "Basic"])
async def test_credentials_do_not_reach_the_camera(relay: Served, camera: Camera, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} c2VjcmV0", "X-CSRFToken": "c2VjcmV0"}
    await relay.get("/cameras/3/", headers=headers)
    assert "c2VjcmV0" not in str(camera.asked[-1].headers)


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
    channel = await relay.channel("/cameras/3/socket", protocols=("mqtt", "osc"))
    assert channel.protocol == "osc"
    await channel.send_str("hello")
    assert (await channel.receive()).data == "HELLO"
    await channel.send_bytes(b"\x00\x01")
    assert (await channel.receive()).data == b"\x01\x00"
    await channel.send_str("bye")
    assert (await channel.receive()).type is aiohttp.WSMsgType.CLOSE
    assert channel.close_code == 4001


@pytest.mark.parametrize("state", ["disconnected", "connecting", "disconnecting"])
async def test_a_camera_that_is_not_connected_is_409(served: Served, fake_hub: FakeHub, state: str) -> None:
    fake_hub.appear(DeviceRecord(3, state=state, interface="lo"))
    answer = await served.get("/cameras/3/")
    assert (answer.status, answer.problem["code"]) == (409, "device-not-reachable")


@pytest.mark.usefixtures("port_80")
async def test_a_camera_that_does_not_answer_is_504(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(CONNECTED, DeviceRecord(4, state="connected", interface="no9", camera_address=ADDRESS))
    for number in (3, 4):
        answer = await served.get(f"/cameras/{number}/")
        assert (answer.status, answer.problem["code"]) == (504, "device-not-reachable")


async def test_other_models_have_port_80_alone(relay: Served, camera: Camera) -> None:
    assert (await relay.get("/cameras/3:80/a")).data == b"/a"
    answer = await relay.get("/cameras/3:8080/a")
    assert (answer.status, answer.problem["code"]) == (404, "not-found")
    assert (await relay.get("/cameras/9:80/")).problem["code"] == "device-not-found"
    assert len(camera.asked) == 1


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


async def test_a_simulated_camera_is_reached(shim: Served) -> None:
    device_id = await register(shim, 1)
    await shim.get(f"{P}/wifi/connect?device_id={device_id}&wait=10")
    assert (await shim.get(f"/cameras/{device_id}/osc/info")).json["model"]


async def test_clients_that_vanish_leave_their_places(relay: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cameras_module, "HEARTBEAT_S", 0.2)
    vanished = []
    for _ in range(AT_ONCE):
        host, _, port = relay.host.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(UPGRADE.replace("/cameras/3/", "/cameras/3/socket").format(host="localhost").encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 101")
        vanished.append(writer)  # no heartbeat is answered any more
    async with asyncio.timeout(10):
        while (await relay.get("/cameras/3/")).status != 200:  # noqa: ASYNC110 - it says busy until then
            await asyncio.sleep(0.05)
    for writer in vanished:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def test_the_kernel_ends_the_connection_of_a_camera_that_is_gone(
    relay: Served, fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    open_connection = fake_hub.open_connection

    async def keep(device_id: int, port: int) -> socket.socket:
        opened.append(await open_connection(device_id, port))
        return opened[-1]

    monkeypatch.setattr(fake_hub, "open_connection", keep)
    client = await relay.channel("/cameras/3/socket")
    [connection] = opened
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    said = [socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT]
    idle_s, probe_s, probes = [connection.getsockopt(socket.IPPROTO_TCP, option) for option in said]
    assert idle_s + probes * probe_s <= 90
    await client.close()


async def test_a_camera_that_takes_nothing_does_not_keep_its_place(
    odd_relay: OddCamera, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cameras_module, "SEND_S", 0.3)
    odd_relay.is_websocket = odd_relay.is_deaf = True
    client = await odd_relay.served.channel("/cameras/3/")
    async with asyncio.timeout(10):
        with suppress(ConnectionError):
            while not client.closed:
                await client.send_bytes(bytes(2**20))
    odd_relay.may_flood.set()


async def test_a_length_beside_chunks_is_not_passed_on(odd_relay: OddCamera) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nTransfer-Encoding: chunked"
    answer = await odd_relay.get(head, b"2\r\nok\r\n0\r\n\r\n")
    assert (answer.status, answer.data) == (200, b"ok")


ACTS_ON_US = (
    "Clear-Site-Data", "Strict-Transport-Security", "Alt-Svc", "NEL", "Report-To", "Service-Worker-Allowed",
    "Server", "X-Accel-Redirect", "WWW-Authenticate", "Access-Control-Allow-Origin", "Origin-Agent-Cluster",
)  # fmt: skip


@pytest.fixture
async def odd_relay(port_80: None, fake_hub: FakeHub, served: Served) -> AsyncIterator[OddCamera]:
    """A camera whose answer is bytes as the test says."""
    camera = OddCamera(served)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, EOFError):
            camera.asked = await reader.readuntil(b"\r\n\r\n")
            if camera.is_websocket:
                camera.said = accepted(camera.asked)
            writer.write(camera.said)
            await writer.drain()
            if camera.is_silent:
                await reader.read()
            if camera.is_deaf:
                writer.transport.pause_reading()  # type: ignore[attr-defined]
                camera.may_flood.clear()
                await camera.may_flood.wait()
            if camera.flood:
                await camera.may_flood.wait()
                while True:
                    writer.write(camera.flood)
                    await writer.drain()
        camera.over.set()

    async with stream_server(answer, ADDRESS, 80):
        fake_hub.appear(CONNECTED)
        yield camera


UPGRADE = (
    "GET /cameras/3/ HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def accepted(head: bytes) -> bytes:
    """The answer that begins a WebSocket (RFC 6455, 4.2.2)."""
    [key] = re.findall(rb"(?i)\r\nsec-websocket-key: ?(\S+)\r\n", head)
    digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n"
    )


def _set_event() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class OddCamera:
    served: Served
    said: bytes = b""
    flood: bytes = b""
    """What it goes on to send without an end."""
    may_flood: asyncio.Event = field(default_factory=_set_event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """The connection has ended, or it has sent all."""
    is_websocket: bool = False
    """It agrees to be one, and sends `flood` then."""
    is_silent: bool = False
    """It says no more, and does not close."""
    is_deaf: bool = False
    """It takes nothing until `may_flood`."""
    asked: bytes = b""

    async def get(self, head: bytes, body: bytes = b"ok", flood: bytes = b"") -> Answer:
        self.said = head + b"\r\n\r\n" + body
        self.flood = flood
        return await self.served.get("/cameras/3/")


async def test_what_would_act_on_this_service_is_left_out(odd_relay: OddCamera) -> None:
    fields = "".join(f"\r\n{name}: x" for name in ACTS_ON_US)
    answer = await odd_relay.get(f"HTTP/1.1 200 OK\r\nContent-Type: text/plain{fields}".encode())
    assert (answer.status, answer.data) == (200, b"ok")
    assert answer.headers["Content-Type"] == "text/plain"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert not answer.headers.keys() & set(ACTS_ON_US)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 O\x01K",
        b"HTTP/1.1 200 O\x7fK",
        b"HTTP/1.1 200 O\x80K",
        b"HTTP/1.1 299 \t",
        b"HTTP/1.1 200 OK\r\nETag: a\x80b",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=\x80",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: =;\r\nSet-Cookie: ;;\r\nSet-Cookie: a",
        b"HTTP/1.1 200 OK\r\nLocation: \xc3\xa4\x80",
    ],
)
async def test_odd_bytes_of_a_camera_are_no_error_of_ours(odd_relay: OddCamera, head: bytes) -> None:
    answer = await odd_relay.get(head)
    assert answer.status in (int(head[9:12]), 502)


async def test_a_camera_cannot_change_the_protocol_unasked(odd_relay: OddCamera) -> None:
    answer = await odd_relay.get(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade")
    assert answer.problem["code"] == "connection-lost"


@pytest.mark.parametrize("path", [b"/\xc3\xa4", b"/\x80", b"/?\x80"])
async def test_odd_bytes_of_a_client_are_no_error_of_ours(odd_relay: OddCamera, path: bytes) -> None:
    request = (
        b"GET /cameras/3" + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-A: \x80\r\n\r\n"
    )
    assert (await odd_relay.served.raw(request, first_line=True))[9:12] == b"400"
    odd_relay.said = b"HTTP/1.1 200 OK\r\n\r\n"
    answer = await odd_relay.served.raw(request.replace(path, b"/x"), first_line=True)
    assert answer[9:12] == b"200"
    assert b"X-A" not in odd_relay.asked


@pytest.mark.parametrize(
    ("head", "flood"),
    [
        (b"HTTP/1.1 200 OK\r\nX-A: 1", b"X: y\r\n" * 5000),
        (b"HTTP/1.1 200 OK", b"X: " + b"y" * 70000),
        (b"HTTP/1.1 100 Continue\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        (b"HTTP/1.1 103 Early Hints\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 100),
        (b"HTTP/1.1 ", b"2" * 9000),
    ],
)
async def test_a_head_without_an_end_is_cut_off(odd_relay: OddCamera, head: bytes, flood: bytes) -> None:
    odd_relay.said = head + b"\r\n"
    odd_relay.flood = flood
    before = _peak_memory_kb()
    answer = await odd_relay.served.get("/cameras/3/")
    assert answer.problem["code"] == "connection-lost"
    assert _peak_memory_kb() - before < 16 << 10


@pytest.mark.parametrize(
    "fields", [b"".join(b"X-%d: %s\r\n" % (n, b"y" * 8000) for n in range(9)), b"X: y\r\n" * 200]
)
async def test_a_head_has_64_kilobytes_and_128_fields_at_most(odd_relay: OddCamera, fields: bytes) -> None:
    answer = await odd_relay.get(b"HTTP/1.1 200 OK\r\n" + fields.rstrip())
    assert answer.problem["code"] == "connection-lost"
    answer = await odd_relay.get(b"HTTP/1.1 200 OK\r\n" + fields[: len(fields) // 2].rpartition(b"\r\n")[0])
    assert answer.status == 200


@pytest.mark.parametrize("flood", [b"X: y\r\n" * 5000, b"1;" + b"x" * 70000, b"1\r\nx\r\n" * 10000])
async def test_a_body_that_goes_on_with_little_content_is_cut_off(odd_relay: OddCamera, flood: bytes) -> None:
    odd_relay.said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + (
        b"0\r\n" if flood.startswith(b"X") else b""
    )
    odd_relay.flood = flood
    before = _peak_memory_kb()
    with suppress(aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, ConnectionResetError):
        await odd_relay.served.get("/cameras/3/")
    async with asyncio.timeout(10):
        await odd_relay.over.wait()
    assert _peak_memory_kb() - before < 16 << 10


async def test_a_body_that_is_no_http_any_more_is_broken_off(odd_relay: OddCamera) -> None:
    odd_relay.said = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
    odd_relay.flood = b"5\r\nhello\nhehe"
    odd_relay.may_flood.clear()
    async with (
        asyncio.timeout(10),
        odd_relay.served.session.get(odd_relay.served.url + "/cameras/3/") as answer,
    ):
        assert await answer.content.readexactly(2) == b"ok"
        odd_relay.may_flood.set()
        with pytest.raises((aiohttp.ClientPayloadError, aiohttp.ClientConnectionError)):
            await answer.read()


async def test_a_camera_that_floods_behind_a_change_of_protocol_is_cut_off(odd_relay: OddCamera) -> None:
    odd_relay.said = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
    odd_relay.flood = b"x" * 65536
    assert (await odd_relay.served.get("/cameras/3/")).problem["code"] == "connection-lost"


async def test_a_head_that_trickles_in_is_given_up(
    odd_relay: OddCamera, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "HEAD_S", 0.1)
    odd_relay.said = b"HTTP/1.1 200"
    odd_relay.is_silent = True
    assert (await odd_relay.served.get("/cameras/3/")).problem["code"] == "device-not-reachable"


async def test_a_camera_that_goes_on_sending_does_not_keep_a_socket_open(odd_relay: OddCamera) -> None:
    odd_relay.is_websocket = True
    odd_relay.flood = b"\x81\x05hello" * 100
    channel = await odd_relay.served.channel("/cameras/3/")
    await channel.receive()
    await channel.close()
    async with asyncio.timeout(10):
        await odd_relay.over.wait()


async def test_noise_behind_an_upgrade_that_fails_costs_no_answer(odd_relay: OddCamera) -> None:
    odd_relay.said = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    request = UPGRADE.format(host=odd_relay.served.host).encode()
    with capture_logs() as logs:
        answer = await odd_relay.served.raw(request + b"5;a\r\n", first_line=True)
    assert answer[9:12] == b"502"
    assert logs == []


async def test_a_client_that_resets_while_its_answer_waits_is_no_error_of_ours(
    odd_relay: OddCamera, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = asyncio.Event()
    pause = FrontConnection.pause_writing

    def noted(connection: FrontConnection) -> None:
        pause(connection)
        waits.set()

    monkeypatch.setattr(FrontConnection, "pause_writing", noted)
    odd_relay.said, odd_relay.flood = b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536
    host, _, port = odd_relay.served.host.partition(":")
    with capture_logs() as logs:
        _, writer = await asyncio.open_connection(host, int(port), limit=1)
        writer.write(f"GET /cameras/3/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        async with asyncio.timeout(10):
            await waits.wait()
            writer.transport.abort()  # with bytes unread, which is a reset
            await odd_relay.over.wait()
    assert logs == []


async def test_a_large_body_to_a_slow_client_is_whole(odd_relay: OddCamera) -> None:
    size = 8 << 20
    odd_relay.said = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size
    raw = 0
    async with odd_relay.served.session.get(odd_relay.served.url + "/cameras/3/") as answer:
        async for piece in answer.content.iter_chunked(1 << 16):
            raw += len(piece)
    assert raw == size


def _peak_memory_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class TestWithToken:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(token="our-token")

    async def test_our_token_is_not_the_cameras(self, relay: Served, camera: Camera) -> None:
        assert (await relay.get("/cameras/3/")).status == 401
        answer = await relay.get("/cameras/3/", headers={"Authorization": "Bearer our-token"})
        assert answer.status == 200
        assert "Authorization" not in camera.asked[-1].headers
