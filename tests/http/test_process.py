"""`wifimgrd-http` as a process: start, listen, stop, and what it needs."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from benchmarks.accounting import Account
from benchmarks.ceilings import most_mb
from tests.http.served import P, Served
from tests.message_bus import MessageBusDaemon

PATIENCE_S = 60.0
Start = Callable[..., Coroutine[Any, Any, Process]]


@pytest.fixture
async def start(message_bus: MessageBusDaemon) -> AsyncIterator[Start]:
    """Starts the shim on a bus of the test's own."""
    started: list[Process] = []

    async def start(*arguments: str, **options: Any) -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "wifimgrd.http", "--bus", message_bus.address, *arguments,
            stderr=PIPE, **options,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def listening(process: Process) -> str:
    """Where it says that it listens."""
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_S):
        async for line in process.stderr:
            found = re.search(rb"\blistening\b.*\burl=(\S+)", line)
            if found:
                return found[1].decode().rstrip("/")
    raise AssertionError("it ended without listening")


async def refusal(process: Process) -> str:
    """What it says where it does not start."""
    _, said = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode not in {0, None}
    assert b"Traceback" not in said
    return said.decode()


async def test_it_says_where_it_listens_and_answers_there(start: Start) -> None:
    url = await listening(await start("--listen", "127.0.0.1:0"))
    async with Served.at(url) as shim:
        assert (await shim.get("/healthz")).status == 200


async def test_without_the_daemon_it_is_alive_and_unavailable(start: Start) -> None:
    async with Served.at(await listening(await start("--listen", "127.0.0.1:0"))) as shim:
        assert (await shim.get("/healthz")).json["daemon"] == "unavailable"
        answer = await shim.get(P)
        assert (answer.status, answer.problem["code"]) == (503, "backend-unavailable")


async def test_it_listens_on_ipv6(start: Start) -> None:
    url = await listening(await start("--listen", "[::1]:0"))
    assert url.startswith("http://[::1]:")
    async with Served.at(url) as shim:
        assert (await shim.get("/healthz")).status == 200


@pytest.mark.usefixtures("daemon")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_stops_in_order_with_a_client_on_the_channel(start: Start, number: signal.Signals) -> None:
    process = await start("--listen", "127.0.0.1:0")
    async with Served.at(await listening(process)) as shim:
        channel = await shim.channel()
        await channel.receive()
        process.send_signal(number)
        assert (await channel.receive(timeout=PATIENCE_S)).data == 1001
        _, said = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 0
    assert b"Traceback" not in said
    assert b"WARNING" not in said


async def test_a_port_that_is_taken_stops_the_start(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = await refusal(await start("--listen", f"127.0.0.1:{port}"))
    assert str(port) in said


async def test_a_listen_address_that_is_none_stops_the_start(start: Start) -> None:
    assert "HOST:PORT" in await refusal(await start("--listen", "8080"))


async def test_an_unknown_key_stops_the_start(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("[http]\nlisten_on = 'x'\n")
    said = await refusal(await start("--config", str(file)))
    assert str(file) in said
    assert "listen_on" in said


async def test_an_empty_token_file_stops_the_start(start: Start, tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    file = tmp_path / "own.toml"
    file.write_text(f"[http]\ntoken_file = '{tmp_path / 'token'}'\n")
    assert "token_file" in await refusal(await start("--config", str(file)))


async def test_the_configuration_decides(start: Start, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("0123456789s3cret")
    file = tmp_path / "own.toml"
    file.write_text(
        f"[platform]\nname = 'other'\n[http]\nlisten = '127.0.0.1:0'\n"
        f"allowed_hosts = ['hub.example']\ntoken_file = '{tmp_path / 'token'}'\n"
    )
    async with Served.at(await listening(await start("--config", str(file)))) as shim:
        path = "/plugin-views/other_plugin_device_manager/devices/"
        assert (await shim.get(path)).problem["code"] == "unauthorized"
        headers = {"Authorization": "Bearer 0123456789s3cret", "Host": "hub.example"}
        assert (await shim.get(path, headers=headers)).problem["code"] == "backend-unavailable"


AS_SYSTEMD_STARTS = """
import os, sys
fd, bus = sys.argv[1:]
os.dup2(int(fd), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
shim = ["-m", "wifimgrd.http", "--bus", bus, "--listen", "127.0.0.1:1"]
os.execv(sys.executable, [sys.executable, *shim])
"""


async def test_it_takes_the_socket_that_systemd_has_bound(message_bus: MessageBusDaemon) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]

        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", AS_SYSTEMD_STARTS, str(bound.fileno()), message_bus.address,
            pass_fds=[bound.fileno()], stderr=PIPE,
        )  # fmt: skip
        try:
            assert await listening(process) == f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            await process.communicate()


async def test_the_service_manager_is_reported_when_it_serves_and_when_it_stops(
    start: Start, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        process = await start(
            "--listen", "127.0.0.1:0", env={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")}
        )
        loop = asyncio.get_running_loop()
        assert await asyncio.wait_for(loop.sock_recv(manager, 100), PATIENCE_S) == b"READY=1"
        process.terminate()
        assert await asyncio.wait_for(loop.sock_recv(manager, 100), PATIENCE_S) == b"STOPPING=1"


@pytest.mark.usefixtures("daemon")
async def test_it_is_small(start: Start) -> None:
    process = await start("--listen", "127.0.0.1:0")
    async with Served.at(await listening(process)) as shim:
        channel = await shim.channel()
        await channel.receive()
        await shim.get(P)
        assert Account(process.pid).memory().rss_mb <= most_mb("wifimgrd-http")
