"""The example of a new command in CONTRIBUTING.md, applied to a copy of the checkout, and run there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.docs.checkout_copy import apply, contents, copied, example_patch, run
from tests.docs.code_blocks import CHECKOUT
from tests.message_bus import MessageBusDaemon
from tests.processes import running_hub
from tools.generate_descriptions import DESCRIPTIONS

pytestmark = pytest.mark.slow

MOST_FILES: Final = 3
FROM_THERE: Final = (sys.executable, "-P", "-m")
SHOW: Final = """
import json, sys
import wifimgrd
from wifimgrd.client.hub import HubClient
from wifimgrd.http._app import build_app
from wifimgrd.http.channel._commands import parse_command
from wifimgrd.http.settings import Settings
from wifimgrd.mqtt._command_messages import CommandMessage
from wifimgrd.mqtt._command_messages import parse_command as parse_message
from wifimgrd.mqtt._topics import Target
from wifimgrd.runtime.tasks import Tasks

app = build_app(HubClient(), Settings(), Tasks(""))
routes = [str(one.resource and one.resource.canonical) for one in app.router.routes()]
kind = "command.device.device_connection.identify"
json.dump({
    "code": wifimgrd.__file__,
    "route": any("/wifi/identify" in one for one in routes),
    "channel": parse_command(json.dumps({"type": kind, "device_connection_id": 1})).kind == kind,
    "mqtt": parse_message(CommandMessage(Target(1), b'{"command": "identify"}')).name,
}, sys.stdout)
"""


async def test_the_example_of_a_new_command_reaches_every_client_and_is_carried_out(
    tmp_path: Path, message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copied(tmp_path / "checkout")
    before = contents(copy)
    apply(example_patch("domain/commands.py"), copy)
    after = contents(copy)
    assert len([file for file in after if after[file] != before[file]]) == MOST_FILES

    run(copy, sys.executable, "tools/generate_descriptions.py")
    described = contents(copy)
    for file in DESCRIPTIONS:
        assert b"identify" in described[str(file.relative_to(CHECKOUT))]

    shown = json.loads(run(copy, sys.executable, "-c", SHOW))
    assert Path(shown.pop("code")).is_relative_to(copy)
    assert shown == {"route": True, "channel": True, "mqtt": "identify"}

    monkeypatch.setenv("PYTHONPATH", str(copy))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    state = tmp_path / "state"
    state.mkdir()
    async with running_hub(message_bus.address, state, program=(*FROM_THERE, "wifimgrd.daemon")) as hub:
        device = await hub.create(1)
        run(copy, *FROM_THERE, "wifimgrd.cli", "--bus", message_bus.address, "identify", str(device))
        identified = [line for line in hub.log.read_text().splitlines() if "identified" in line]
    assert [f"device={device}" in line for line in identified] == [True]
