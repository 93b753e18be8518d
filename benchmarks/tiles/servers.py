"""The servers that are compared, each on a port of its own, as real processes."""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks import interpreter
from benchmarks.accounting import Account

TILESERVER: Final = Path(__file__).parents[2] / ".node/node_modules/tileserver-gl-light/src/main.js"
_START_S: Final = 30.0
_NGINX: Final = """\
daemon off;
master_process off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    sendfile on;
    types {{ image/png png; }}
    open_file_cache max={files} inactive=60s;
    open_file_cache_errors on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ root {tiles}; log_not_found off; }}
    }}
}}
"""


def nginx() -> str | None:
    """Where nginx is, where it is."""
    return shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def running_nginx(folder: Path, tiles: Path) -> Iterator[tuple[Account, int]]:
    """nginx with the tiles as static files."""
    port = _free_port()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2
    configuration = folder / "nginx.conf"
    configuration.write_text(_NGINX.format(folder=folder, port=port, tiles=tiles, files=files))
    with _running([str(nginx()), "-c", str(configuration), "-p", str(folder)], port) as account:
        yield account, port


@contextmanager
def running_shim(folder: Path, sources: dict[str, Path]) -> Iterator[tuple[Account, int]]:
    """Our shim with tilesets."""
    tables = [
        f'[[tiles.source]]\ntileset = "{kind}"\ntype = "{kind}"\npath = "{path}"\n'
        for kind, path in sources.items()
    ]
    with _running_shim(folder, "".join(tables)) as shim:
        yield shim


@contextmanager
def running_map(folder: Path, archive: Path) -> Iterator[tuple[Account, int]]:
    """Our shim with the platform's map."""
    with _running_shim(folder, f'[map]\ntiles = "{archive}"\n') as shim:
        yield shim


@contextmanager
def _running_shim(folder: Path, tables: str) -> Iterator[tuple[Account, int]]:
    """Our shim, without a daemon: maps need none."""
    port = _free_port()
    configuration = folder / "wifimgrd.toml"
    configuration.write_text(f'[http]\nlisten = "127.0.0.1:{port}"\n' + tables)
    command = [*interpreter.command("wifimgrd-http"), "--config", str(configuration), "--bus"]
    with _running([*command, f"unix:path={folder}/no-bus"], port) as account:
        yield account, port


@contextmanager
def running_tileserver(folder: Path, mbtiles: Path) -> Iterator[tuple[Account, int]]:
    """tileserver-gl-light with the database as its data `world`."""
    port = _free_port()
    configuration = folder / "tileserver.json"
    options = {"paths": {"root": str(mbtiles.parent), "mbtiles": str(mbtiles.parent)}}
    configuration.write_text(json.dumps({"options": options, "data": {"world": {"mbtiles": mbtiles.name}}}))
    command = ["node", str(TILESERVER), "--config", str(configuration), "--bind", "127.0.0.1"]
    with _running([*command, "--port", str(port), "--silent"], port) as account:
        yield account, port


@contextmanager
def _running(command: list[str], port: int) -> Iterator[Account]:
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        command, env=interpreter.environment(), stdin=quiet, stdout=quiet, stderr=quiet
    )
    try:
        _wait(port, process)
        yield Account(process.pid)
    finally:
        process.kill()
        process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"{process.args!r} does not serve")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
