"""Clients that generators make of what is shipped: each connects a simulated camera and reads all fields.

gdbus-codegen and a C compiler, sdbus and openapi-python-client are installed by `make test-all`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from dbus_fast import Variant
from dbus_fast.aio import MessageBus

from tests.http.served import P, Served
from tests.processes import Hub, camera
from wifimgrd.http.settings import Settings
from wifimgrd.wire import names
from wifimgrd.wire.definitions import definition

CHECKOUT: Final = Path(__file__).parents[2]
INTROSPECTION: Final = CHECKOUT / "wifimgrd" / "wire" / "introspection"
GENERATORS: Final = CHECKOUT / ".generated-clients"
"""Where tools/set-up installs the generators that are written in Python."""
FIELDS: Final = frozenset(definition(names.DEVICE).properties)


async def run(*command: str | Path, **environment: str) -> str:
    """The output of a program, which succeeds."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | environment,
    )
    out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return out.decode()


def lines_of(output: str) -> tuple[Mapping[str, str], frozenset[str]]:
    """What a client has printed: values, and the names of the properties that it has read."""
    parted = [line.split(" ", 1) for line in output.splitlines()]
    read = frozenset(value for key, value in parted if key == "property")
    return {key: value for key, value in parted if key != "property"}, read


async def test_c_of_gdbus_codegen(hub: Hub, tmp_path: Path) -> None:
    generate = (
        "gdbus-codegen",
        "--interface-prefix",
        "org.wifimgrd1.",
        "--c-namespace",
        "Hub",
        "--generate-c-code",
    )
    xml = [
        INTROSPECTION / f"org.wifimgrd1.{name}.xml" for name in ("Manager", "Device", "Power", "Interface")
    ]
    await run(*generate, tmp_path / "hub", *xml)
    flags = (await run("pkg-config", "--cflags", "--libs", "gio-2.0", "gio-unix-2.0")).split()
    sources = (Path(__file__).parent / "client.c", tmp_path / "hub.c")
    await run("cc", "-Wall", "-Werror", "-o", tmp_path / "client", f"-I{tmp_path}", *sources, *flags)
    values, read = lines_of(await run(tmp_path / "client", hub.address))
    assert values == {"id": "1", "state": "connected", "ssid": "SIM-CAM-1"}
    assert read == FIELDS


async def test_proxies_of_dbus_fast(hub: Hub) -> None:
    bus = await MessageBus(hub.address).connect()
    known = await bus.introspect(names.BUS_NAME, names.ROOT_PATH)
    manager = bus.get_proxy_object(names.BUS_NAME, names.ROOT_PATH, known).get_interface(names.MANAGER)
    fields = {name: Variant("s", str(value)) for name, value in camera(1).items()}
    path = await manager.call_create_device(fields)  # type: ignore[attr-defined]
    known = await bus.introspect(names.BUS_NAME, path)
    proxy = bus.get_proxy_object(names.BUS_NAME, path, known)
    device = proxy.get_interface(names.DEVICE)
    await device.call_connect({"wait": Variant("b", True)})  # type: ignore[attr-defined]
    assert await device.get_state() == "connected"  # type: ignore[attr-defined]
    assert bytes(await device.get_ssid()) == b"SIM-CAM-1"  # type: ignore[attr-defined]
    properties = proxy.get_interface("org.freedesktop.DBus.Properties")
    assert set(await properties.call_get_all(names.DEVICE)) == FIELDS  # type: ignore[attr-defined]
    bus.disconnect()


async def test_python_of_sdbus(hub: Hub, tmp_path: Path) -> None:
    generated = await run(
        *(sys.executable, "-m", "sdbus", "gen-from-file"),
        *(INTROSPECTION / f"org.wifimgrd1.{name}.xml" for name in ("Manager", "Device")),
        PYTHONPATH=str(GENERATORS),
    )
    (tmp_path / "generated_hub.py").write_text(generated)
    output = await run(
        *(sys.executable, Path(__file__).parent / "with_sdbus.py"),
        PYTHONPATH=f"{GENERATORS}:{tmp_path}",
        DBUS_SESSION_BUS_ADDRESS=hub.address,
    )
    values, read = lines_of(output)
    assert values == {"id": "1", "state": "connected", "ssid": "SIM-CAM-1"}
    assert read == FIELDS


async def test_python_of_openapi_python_client(hub: Hub, tmp_path: Path) -> None:
    async with Served.start(hub.client, Settings()) as shim:
        document = (await shim.get("/openapi.json")).data
        (tmp_path / "openapi.json").write_bytes(document)
        said = await run(
            *(sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--overwrite"),
            *("--path", tmp_path / "openapi.json", "--output-path", tmp_path / "generated_http"),
            PYTHONPATH=str(GENERATORS),
            PATH=f"{GENERATORS / 'bin'}:{os.environ['PATH']}",
        )
        assert "Warning" not in said, said
        # One without a driver: nothing of its record changes between the two times that it is read.
        await hub.client.simulate("PowerOnCamera", "ay", b"SIM-CAM-OFF")
        output = await run(
            *(sys.executable, Path(__file__).parent / "with_openapi.py", shim.url),
            PYTHONPATH=f"{GENERATORS}:{tmp_path}",
        )
        served = (await shim.get(f"{P}/1/")).json
    assert json.loads(output.replace("+00:00", "Z")) == served
    assert served["connection_status"] == "connected"


@pytest.mark.parametrize("program", ["gdbus-codegen", "cc", "pkg-config"])
def test_the_generators_are_there(program: str) -> None:
    assert any((Path(folder) / program).exists() for folder in os.environ["PATH"].split(":"))
