"""Home Assistant's core with its MQTT integration, as a program in a root of its own.

`home_assistant.py FOLDER PORT` keeps its configuration in FOLDER, connects to the broker at that port, and
reads one request a line from stdin; it replies with one line of JSON each on stdout, the first one once it
runs. Its log is on stderr.
"""

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from homeassistant import bootstrap, runner  # type: ignore[import-not-found]
from homeassistant.components import mqtt  # type: ignore[import-not-found]
from homeassistant.helpers import device_registry  # type: ignore[import-not-found]

LONGEST_WAIT_S = 2


class Changed:
    """Whether anything has changed since that was asked last."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    async def note(self, _: Any) -> None:
        """Something has."""
        self._event.set()

    async def wait(self) -> None:
        """Wait for the next change, but not for long: stdin may end meanwhile."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), LONGEST_WAIT_S)
        self._event.clear()


CHANGED = Changed()


def devices(hass: Any) -> list[Any]:
    """All devices of the MQTT integration."""
    [entry] = hass.config_entries.async_entries("mqtt")
    registry = device_registry.async_get(hass)
    found: list[Any] = device_registry.async_entries_for_config_entry(registry, entry.entry_id)
    return found


def described(device: Any) -> dict[str, Any]:
    """What a person sees of a device, and whether it hangs on another one."""
    fields = ("manufacturer", "model", "model_id", "sw_version", "configuration_url")
    return {field: getattr(device, field) for field in fields} | {"via": device.via_device_id is not None}


async def reply_to(hass: Any, request: list[str]) -> Any:
    """Carry out a request."""
    match request:
        case ["states"]:
            return {state.entity_id: state.state for state in hass.states.async_all()}
        case ["change"]:
            await CHANGED.wait()
        case ["devices"]:
            return {device.name: described(device) for device in devices(hass)}
        case ["switch", entity, how]:
            await hass.services.async_call("switch", f"turn_{how}", {"entity_id": entity}, blocking=True)
        case ["delete", name]:  # as its page does it
            [entry] = hass.config_entries.async_entries("mqtt")
            [device] = [one for one in devices(hass) if one.name == name]
            await mqtt.async_remove_config_entry_device(hass, entry, device)
            registry = device_registry.async_get(hass)
            registry.async_update_device(device.id, remove_config_entry_id=entry.entry_id)
        case _:
            raise ValueError(request)
    return None


async def main(folder: str, port: str) -> None:
    """Run it until stdin ends."""
    hass = await bootstrap.async_setup_hass(runner.RuntimeConfig(config_dir=folder))
    await hass.async_start()
    if not hass.config_entries.async_entries("mqtt"):
        flow = await hass.config_entries.flow.async_init("mqtt", context={"source": "user"})
        broker = {"broker": "127.0.0.1", "port": int(port)}
        await hass.config_entries.flow.async_configure(flow["flow_id"], broker)
    requests = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(requests)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    for event in ("state_changed", "device_registry_updated"):
        hass.bus.async_listen(event, CHANGED.note)
    write("ready")
    while line := await requests.readline():
        write(await reply_to(hass, json.loads(line)))
    await hass.async_stop()


def write(reply: Any) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


Path(sys.argv[1], "configuration.yaml").touch()
asyncio.run(main(*sys.argv[1:]))
