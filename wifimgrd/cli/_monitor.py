"""`wifimgrctl monitor`: every change as it happens."""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import datetime
from typing import Any, Final

from wifimgrd.cli._event_text import EventText, Sentence
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import Style, safe
from wifimgrd.client.changes import Change, DaemonAppeared, DaemonVanished
from wifimgrd.client.channel_messages import ChannelMessages, Message
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_records import device_json, interface_json, service_json
from wifimgrd.wire.kinds import time_text

_CLOCK: Final = len("12:34:56.789  ")


async def monitor(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Print changes until the command is stopped; restarts of the daemon do not stop it.

    With JSON: one object a line, as on the management channel, a `snapshot` first.
    """
    del arguments
    # The changes are not printed in the bus's own callbacks: a pipe may be full, or broken.
    changes: asyncio.Queue[tuple[int, list[Message]]] = asyncio.Queue()
    translator, event_text = ChannelMessages(), EventText()

    def take(change: Change) -> None:
        messages = []
        if isinstance(change, DaemonAppeared):
            messages.append(snapshot(hub))
            messages += translator.resynchronise(hub.service, hub.devices.values())
        messages += translator.messages(change)
        changes.put_nowait((_now_us(), messages))

    end = hub.subscribe(take)
    try:
        take(DaemonAppeared() if hub.available else DaemonVanished(hub.reason))
        while True:
            time_us, messages = await changes.get()
            for message in messages:
                _show(message, time_us, event_text, screen)
    finally:
        end()


def snapshot(hub: HubClient) -> Message:
    """All that there is, as the first message."""
    data: dict[str, Any] = {
        "devices": [device_json(device) for device in hub.devices.values()],
        "interfaces": [interface_json(interface) for interface in hub.interfaces.values()],
        "service": service_json(hub.service),
    }
    return Message("snapshot", data)


def _show(message: Message, time_us: int, event_text: EventText, screen: Screen) -> None:
    if screen.json:
        members = {"data": message.data} if message.type != "snapshot" else message.data
        screen.show_one({"type": message.type, "time": time_text(time_us), **members}, "")
        return
    for sentence in event_text.text(message):
        _show_sentence(time_us, sentence, screen)


def _show_sentence(time_us: int, sentence: Sentence, screen: Screen) -> None:
    """Print a sentence about an event, with its time."""
    moment = datetime.fromtimestamp(time_us / 1e6).astimezone().isoformat(timespec="milliseconds")
    clock = screen.styled(moment[11:23], Style.FAINT)
    subject = screen.styled(safe(sentence.subject), Style.STRONG)
    line = f"{clock}  {subject}: {screen.styled(safe(sentence.what), sentence.style)}"
    screen.show_one(None, line, _CLOCK)


def _now_us() -> int:
    return time.time_ns() // 1000
