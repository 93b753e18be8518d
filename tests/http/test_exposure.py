"""Other addresses than loopback, and HTTPS: `wifimgrd-http` as a process."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from tests.http.served import P, Served
from tests.http.test_process import AS_SYSTEMD_STARTS, PATIENCE_S, Start, listening, refusal, start

__all__ = ["start"]

TOKEN = "0123456789abcdef"
EX_CONFIG = 78
EX_IOERR = 74
CERTIFICATES_READ = """
import os, ssl
make, made = ssl.create_default_context, []
ssl.create_default_context = lambda *args, **options: made.append(make(*args, **options)) or made[-1]
import wifimgrd.http.__main__
count = lambda context: context.cert_store_stats()["x509"]
print(sum(map(count, made)), count(make()), os.environ["SSL_CERT_FILE"])
"""


def write(file: Path, text: str) -> None:
    file.write_text(text)


def read(file: Path) -> str:
    return file.read_text()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "wifimgrd.toml"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    return file


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
async def test_without_a_token_it_is_not_open_to_other_hosts(start: Start, address: str) -> None:
    process = await start("--listen", address)
    said = await refusal(process)
    assert process.returncode == EX_CONFIG
    assert "[http] token_file" in said
    assert "[http] insecure_without_token = true" in said


async def test_with_a_token_it_is(start: Start, config: Path, token_file: Path) -> None:
    write(config, f'[http]\ntoken_file = "{token_file}"\n')
    url = await listening(await start("--listen", "0.0.0.0:0", "--config", str(config)))
    async with Served.at(url.replace("0.0.0.0", "127.0.0.1")) as shim:
        assert (await shim.get("/healthz")).status == 200
        assert (await shim.get(P)).status == 401


async def test_with_the_word_of_the_configuration_it_is(start: Start, config: Path) -> None:
    write(config, "[http]\ninsecure_without_token = true\n")
    url = await listening(await start("--listen", "0.0.0.0:0", "--config", str(config)))
    async with Served.at(url.replace("0.0.0.0", "127.0.0.1")) as shim:
        assert (await shim.get("/healthz")).status == 200


@pytest.mark.parametrize(("address", "listen"), [("0.0.0.0", "127.0.0.1:1"), ("127.0.0.1", "0.0.0.0:1")])
async def test_the_sockets_that_systemd_bound_count(address: str, listen: str) -> None:
    program = AS_SYSTEMD_STARTS.replace("127.0.0.1:1", listen)
    with socket.create_server((address, 0)) as bound:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, str(bound.fileno()), "unix:path=/nowhere",
            pass_fds=[bound.fileno()], stderr=PIPE,
        )  # fmt: skip
        try:
            if address == "127.0.0.1":
                await listening(process)
            else:
                await refusal(process)
                assert process.returncode == EX_CONFIG
        finally:
            if process.returncode is None:
                process.terminate()
            await process.communicate()


async def test_a_socket_in_the_file_system_needs_no_token(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        bound.listen()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", AS_SYSTEMD_STARTS, str(bound.fileno()), "unix:path=/nowhere",
            pass_fds=[bound.fileno()], stderr=PIPE,
        )  # fmt: skip
        try:
            assert (await listening(process)).startswith("unix:")
        finally:
            process.terminate()
            await process.communicate()


@pytest.mark.parametrize("token", ["0123456789abcde", "swordfish"])
async def test_a_short_token_stops_the_start(start: Start, config: Path, tmp_path: Path, token: str) -> None:
    write(tmp_path / "short", token)
    write(config, f'[http]\ntoken_file = "{tmp_path / "short"}"\n')
    process = await start("--listen", "127.0.0.1:0", "--config", str(config))
    said = await refusal(process)
    assert process.returncode == EX_CONFIG
    assert "16 characters" in said
    assert token not in said


async def test_a_token_can_be_a_credential(start: Start, config: Path, token_file: Path) -> None:
    write(config, '[http]\ntoken_file = "token"\n')
    environment = {**os.environ, "CREDENTIALS_DIRECTORY": str(token_file.parent)}
    process = await start("--listen", "127.0.0.1:0", "--config", str(config), env=environment)
    async with Served.at(await listening(process)) as shim:
        assert (await shim.get(P)).status == 401


class TestTls:
    """With a certificate."""

    @pytest.fixture
    async def certificate(self, tmp_path: Path) -> Path:
        return await made_certificate(tmp_path)

    @pytest.fixture
    def config(self, tmp_path: Path, certificate: Path, token_file: Path) -> Path:
        file = tmp_path / "wifimgrd.toml"
        file.write_text(
            f'[http]\ntoken_file = "{token_file}"\n'
            f'tls_certificate = "{certificate}"\ntls_key = "{tmp_path / "key.pem"}"\n'
        )
        return file

    async def test_https_and_wss_are_served_and_the_cookie_is_secure(
        self, start: Start, config: Path, certificate: Path, daemon: object
    ) -> None:
        url = await listening(await start("--listen", "127.0.0.1:0", "--config", str(config)))
        assert url.startswith("https://127.0.0.1:")
        trust = ssl.create_default_context(cafile=str(certificate))
        async with Served.at(url) as shim:
            answer = await shim.post("/session", json={"token": TOKEN}, ssl=trust)
            assert answer.status == 204
            assert "; Secure" in answer.headers["Set-Cookie"]
            headers = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0], "Origin": url}
            channel = await shim.channel(headers=headers, ssl=trust)
            assert (await channel.receive_json())["type"] == "snapshot"
            answer = await shim.ask("DELETE", "/session", headers={"Origin": url}, ssl=trust)
            assert (answer.status, "; Secure" in answer.headers["Set-Cookie"]) == (204, True)

    async def test_plain_http_is_not(self, start: Start, config: Path) -> None:
        url = await listening(await start("--listen", "127.0.0.1:0", "--config", str(config)))
        async with Served.at(url.replace("https", "http")) as shim:
            try:
                answered = await shim.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            except ConnectionError:
                answered = b""
        assert b"HTTP/1.1 2" not in answered

    async def test_a_reload_reads_the_certificate_again(
        self, start: Start, config: Path, certificate: Path, tmp_path: Path
    ) -> None:
        process = await start("--listen", "127.0.0.1:0", "--config", str(config))
        url = await listening(process)
        first = read(certificate)
        assert await shown(url) == first
        write(certificate, "damaged")
        await reload_until(process, b"certificate_refused")
        assert await shown(url) == first
        await made_certificate(tmp_path)
        await reload_until(process, b"reloaded")
        assert await shown(url) == read(certificate) != first

    async def test_a_certificate_that_cannot_be_used_stops_the_start_until_it_can(
        self, start: Start, config: Path, certificate: Path
    ) -> None:
        write(certificate, "damaged")
        process = await start("--listen", "127.0.0.1:0", "--config", str(config))
        assert "tls_certificate" in await refusal(process)
        assert process.returncode == EX_IOERR

    async def test_a_certificate_without_a_key_stops_the_start(self, start: Start, config: Path) -> None:
        write(config, '[http]\ntls_certificate = "cert.pem"\n')
        process = await start("--listen", "127.0.0.1:0", "--config", str(config))
        assert "tls_key" in await refusal(process)
        assert process.returncode == EX_CONFIG

    async def test_certificates_are_read_only_for_a_server_that_is_verified(self, certificate: Path) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CERTIFICATES_READ,
            stdout=PIPE, env={**os.environ, "SSL_CERT_FILE": str(certificate)},
        )  # fmt: skip
        output, _ = await process.communicate()
        assert output.decode().split() == ["0", "1", str(certificate)]


async def made_certificate(folder: Path) -> Path:
    """A new certificate in `cert.pem`, its key in `key.pem`."""
    making = await asyncio.create_subprocess_exec(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-days", "2",
        "-subj", "/CN=hub", "-addext", "subjectAltName=IP:127.0.0.1", stderr=PIPE,
    )  # fmt: skip
    _, said = await making.communicate()
    assert making.returncode == 0, said
    return folder / "cert.pem"


async def shown(url: str) -> str:
    """The certificate that the shim shows, as PEM."""
    host, port = url.removeprefix("https://").split(":")
    return await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)))


async def reload_until(process: Process, word: bytes) -> None:
    """Reload, and wait for what is logged of it."""
    assert process.stderr is not None
    process.send_signal(signal.SIGHUP)
    async with asyncio.timeout(PATIENCE_S):
        async for line in process.stderr:
            if word in line:
                return
    raise AssertionError("it ended")
