"""Brokers that are not Mosquitto, each in a Debian of its own: RabbitMQ, and a cluster of Aedes."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.bare_roots import in_root, made_once, smallest
from tests.mqtt.logs import lines_with
from tests.mqtt.mosquitto import free_port

START_S: Final = 120.0
AEDES: Final = ("aedes@1.2.0", "aedes-persistence-redis@11.2.2", "mqemitter-redis@7.2.1")
NODE: Final = Path(__file__).with_name("aedes_node.mjs")
"""One node of the cluster; it wants Node 20, which Debian 13 has."""


def with_rabbitmq(suite: str) -> Path:
    """A Debian with RabbitMQ; made once."""
    return made_once(f"rabbitmq-{suite}", lambda folder: smallest(suite, folder, "rabbitmq-server"))


def with_cluster() -> Path:
    """A Debian 13 with Aedes, Redis and nginx; made once."""

    def make(folder: Path) -> None:
        smallest("trixie", folder, "redis-server", "nginx-light", "libnginx-mod-stream", "nodejs")
        where = folder / "opt/aedes"
        where.mkdir(parents=True)
        options = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        subprocess.run(["npm", "install", *options, "--prefix", where, *AEDES], check=True)

    return made_once("aedes-" + AEDES[0].rpartition("@")[2], make)


@dataclass(slots=True)
class Server:
    """A server in a root. Its folder is /tmp/home there."""

    root: Path
    folder: Path
    process: Process | None = None

    async def start(self, listens: str, *command: str, **files: str) -> None:
        """Start it with these files, and wait until its log says that it listens."""
        self.folder.mkdir(parents=True)
        for name, text in files.items():
            (self.folder / name).write_text(text)
        log = self.folder / "log"
        with log.open("wb") as output:
            self.process = await asyncio.create_subprocess_exec(
                *in_root(self.root, self.folder, *command), stdin=DEVNULL, stdout=output, stderr=output
            )
        await lines_with(log, listens, START_S)

    async def kill(self) -> None:
        """End it at once, with all that it has started."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


@asynccontextmanager
async def rabbitmq(suite: str, folder: Path) -> AsyncIterator[int]:
    """A running RabbitMQ of a suite's, for anonymous clients on loopback; gives its port."""
    port = free_port()
    settings = f"listeners.tcp = none\nmqtt.listeners.tcp.1 = 127.0.0.1:{port}\nmqtt.allow_anonymous = true\n"
    variables = {
        "RABBITMQ_CONFIG_FILE": "/tmp/home/settings",
        "RABBITMQ_ENABLED_PLUGINS_FILE": "/tmp/home/plugins",
        "RABBITMQ_MNESIA_BASE": "/tmp/home/mnesia",
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_NODENAME": "rabbit@localhost",
        "RABBITMQ_DIST_PORT": free_port(),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": free_port(),
    }
    command = (
        *(f"{name}={value}" for name, value in variables.items()),
        "/usr/lib/rabbitmq/bin/rabbitmq-server",
    )
    server = Server(with_rabbitmq(suite), folder)
    try:
        await server.start("startup complete", *command, settings=settings, plugins="[rabbitmq_mqtt].\n")
        yield port
    finally:
        await server.kill()


@dataclass(slots=True)
class Cluster:
    """Two nodes, which share what they retain, and a proxy that chooses the one with fewer clients."""

    folder: Path
    port: int = field(default_factory=free_port)
    """The proxy's."""
    nodes: dict[int, Server] = field(default_factory=dict)
    """By their own ports."""

    def node_of(self, client: str) -> Server:
        """The one to which a client has connected, whose id begins like this."""
        [found] = [
            node for node in self.nodes.values() if f"has {client}" in (node.folder / "log").read_text()
        ]
        return found

    def port_of(self, node: Server) -> int:
        """A node's own port."""
        return next(port for port, one in self.nodes.items() if one is node)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Cluster]:
        """Start everything; end it after."""
        root, redis, ports = with_cluster(), free_port(), [free_port(), free_port()]
        upstream = " ".join(f"server 127.0.0.1:{port} max_fails=0;" for port in ports)
        settings = (
            "daemon off; master_process off; error_log stderr notice; pid /tmp/nginx.pid;\n"
            "load_module /usr/lib/nginx/modules/ngx_stream_module.so; events {} stream {\n"
            f"upstream nodes {{ least_conn; {upstream} }}\n"
            f"server {{ listen 127.0.0.1:{self.port}; proxy_pass nodes; proxy_timeout 1h; }} }}\n"
        )
        async with AsyncExitStack() as stack:

            async def start(name: str, listens: str, *command: str, **files: str) -> Server:
                server = Server(root, self.folder / name)
                stack.push_async_callback(server.kill)
                await server.start(listens, *command, **files)
                return server

            store = f"redis-server --port {redis} --bind 127.0.0.1 --save '' --dir /tmp"
            await start("redis", "Ready to accept connections", *shlex.split(store))
            # Its modules are looked for from where it is.
            prepared = (
                "cd /tmp/home && ln -s /opt/aedes/node_modules . && mv program node.mjs && exec node node.mjs"
            )
            for port in ports:
                run = ("sh", "-c", f"{prepared} {port} {redis}")
                self.nodes[port] = await start(f"node-{port}", "listening", *run, program=NODE.read_text())
            await start("proxy", "using the", "nginx", "-c", "/tmp/home/settings", settings=settings)
            yield self
