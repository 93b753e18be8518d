"""`wifimgrctl --broker ... monitor`: every change of every hub as it happens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from wifimgrd.cli._event_text import EventText, Sentence
from wifimgrd.cli._monitor import show_sentence
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import Style
from wifimgrd.client.channel_messages import ChannelMessages, Message
from wifimgrd.client.json_records import device_json, interface_json, service_json
from wifimgrd.fleet.client import FleetClient
from wifimgrd.fleet.fleet import (
    AvailabilityChanged,
    BrokerAppeared,
    BrokerVanished,
    FleetChange,
    FleetHub,
    HubAppeared,
    HubVanished,
)
from wifimgrd.mqtt.broker import RECONNECT
from wifimgrd.mqtt.connection import BrokerError
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire.kinds import time_text


async def monitor(client: FleetClient, screen: Screen) -> bool:
    """Print changes until the command is stopped; a lost connection does not stop it. Raises BrokerError if
    the first one fails.

    With JSON: one object a line, with its hub; a `snapshot` of each first.
    """
    # The changes are not printed where they are received: a pipe may be full, or broken.
    changes: asyncio.Queue[tuple[int, FleetChange, Sequence[Message]]] = asyncio.Queue()
    translators: dict[str, ChannelMessages] = {}

    def take(change: FleetChange) -> None:
        messages = _messages(change, client.fleet.hubs, translators)
        changes.put_nowait((time.time_ns() // 1000, change, messages))

    client.subscribe(take)
    tasks = Tasks("wifimgrctl")
    tasks.keep("broker", client.run, RECONNECT, expected=(BrokerError,), quiet=True)
    output = _Output(screen)
    try:
        while True:
            output.show(*await changes.get())
    finally:
        await tasks.stop()


def _messages(
    change: FleetChange, hubs: Mapping[str, FleetHub], translators: dict[str, ChannelMessages]
) -> list[Message]:
    """A change as messages, with JSON of records as they are now."""
    hub = change.hub
    match change.change:
        case BrokerAppeared():
            return [Message("broker.connected", {"hubs": len(hubs)})]
        case BrokerVanished(reason):
            return [Message("broker.lost", {"reason": reason})]
        case HubAppeared():
            translator = translators[hub] = ChannelMessages()
            translator.resynchronise(hubs[hub].record.service, hubs[hub].devices.values())
            return [_snapshot(hubs[hub])]
        case HubVanished():
            translators.pop(hub, None)
            return [Message("hub.removed", {})]
        case AvailabilityChanged(online):
            return [Message("hub.availability", {"online": online})]
        case of_hub:
            return translators[hub].messages(of_hub)


def _snapshot(hub: FleetHub) -> Message:
    data: dict[str, Any] = {
        "online": hub.online,
        "devices": [device_json(device) for device in hub.devices.values()],
        "interfaces": [interface_json(interface) for interface in hub.interfaces.values()],
        "service": service_json(hub.record.service),
    }
    return Message("snapshot", data)


class _Output:
    """Prints changes."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._texts: dict[str, EventText] = {}
        """By hub."""
        self._was_connected = False
        self._lost = ""
        """The reason that was printed last, of a connection that is lost."""

    def show(self, time_us: int, change: FleetChange, messages: Sequence[Message]) -> None:
        """Print a change; raises BrokerError for a first connection that failed."""
        if isinstance(change.change, BrokerVanished):
            reason = change.change.reason
            if not self._was_connected:
                raise BrokerError(reason)
            if reason == self._lost:
                return
            self._lost = reason
        if self._screen.json:
            for message in messages:
                members = message.data if message.type == "snapshot" else {"data": message.data}
                value = {
                    "type": message.type,
                    "time": time_text(time_us),
                    "hub": change.hub or None,
                    **members,
                }
                self._screen.show_one(value, "")
        else:
            for sentence in self._sentences(change, messages):
                show_sentence(time_us, sentence, self._screen)
        if isinstance(change.change, BrokerAppeared):
            self._was_connected, self._lost = True, ""

    def _sentences(self, change: FleetChange, messages: Sequence[Message]) -> list[Sentence]:
        hub = change.hub
        match change.change:
            case BrokerAppeared():
                again, count = " again" if self._was_connected else "", len(self._texts)
                what = f"connected{again}, watching {count} hub{'' if count == 1 else 's'}"
                return [Sentence("broker", what, Style.GOOD)]
            case BrokerVanished(reason):
                return [Sentence("broker", reason, Style.BAD)]
            case HubAppeared():
                text = self._texts[hub] = EventText(hears_ends=False)
                found = [sentence.what for message in messages for sentence in text.text(message)]
                return [Sentence(hub, what, Style.FAINT) for what in found if self._was_connected]
            case HubVanished():
                self._texts.pop(hub, None)
                return [Sentence(hub, "removed")]
            case AvailabilityChanged(online):
                return [
                    Sentence(hub, "online", Style.GOOD) if online else Sentence(hub, "offline", Style.BAD)
                ]
        text = self._texts[hub]
        found_now = [sentence for message in messages for sentence in text.text(message)]
        return [Sentence(f"{hub}/{one.subject}", one.what, one.style) for one in found_now]
