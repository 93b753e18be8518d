"""The topics of one hub: their names, and the meaning of a topic that was received. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

ONLINE: Final = b"online"
OFFLINE: Final = b"offline"
"""The messages at `availability`."""
_DEVICE: Final = re.compile(r"devices/([1-9][0-9]{0,17})")
_DEVICE_COMMAND: Final = re.compile(rf"{_DEVICE.pattern}/command")
_EVERYONE: Final = "devices/all"
"""The level of all cameras together, for commands and their answers: a user with the rights to use every
camera, `devices/+/command`, may write there, too."""
_ANY_COMMAND: Final = re.compile(r"(devices/[^/]*/)?command", re.DOTALL)
LONGEST_RESPONSE: Final = 512
"""Characters of a response topic."""
RESPONSE_LEVELS: Final = 32
"""Levels of a response topic: a broker closes the connection that publishes to more than it knows, Mosquitto
with 202, EMQX with 129."""
_IN_TOPICS: Final = " !\"$&'()*,:;<=>?@[\\]^`{|}"
"""Characters of interface names that are not escaped, with letters, digits and `_.-~`."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a command topic."""

    device_id: int | None
    """None = the hub, or with `everyone` all its cameras."""
    everyone: bool = False


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics below `PREFIX/HUB`."""

    prefix: str
    hub: str
    others: tuple[str, ...] = ()
    """Prefixes of other topics to which no answer is sent."""

    @property
    def root(self) -> str:
        """`PREFIX/HUB`."""
        return f"{self.prefix}/{self.hub}"

    @property
    def everything(self) -> str:
        """The filter of all topics of the hub."""
        return f"{self.root}/#"

    @property
    def availability(self) -> str:
        """`online` or `offline`, retained."""
        return f"{self.root}/availability"

    @property
    def hub_record(self) -> str:
        """The record of the hub, retained."""
        return f"{self.root}/hub"

    @property
    def claim(self) -> str:
        """Which process publishes as this hub, retained."""
        return f"{self.root}/claim"

    @property
    def marker(self) -> str:
        """The bridge's message to itself, after which it has received all that is retained."""
        return f"{self.root}/marker"

    @property
    def discovery_record(self) -> str:
        """Where the hub publishes its discovery messages, retained."""
        return f"{self.root}/discovery"

    @property
    def events(self) -> str:
        """The messages of the management channel."""
        return f"{self.root}/events"

    @property
    def commands(self) -> tuple[str, str]:
        """The filters of commands."""
        return f"{self.root}/command", f"{self.root}/devices/+/command"

    def device(self, device_id: int) -> str:
        """The record of a device, retained."""
        return f"{self.root}/devices/{device_id}"

    def command(self, target: Target) -> str:
        """Where commands are sent."""
        return f"{self._of(target)}/command"

    def node(self, device_id: int | None) -> str:
        """The id of a device, or of the hub (None), in Home Assistant. It is the same after a renaming, and
        different from any other hub's, whatever their ids: no device's id is `hub`."""
        return f"wifimgrd_{self.hub}_{'hub' if device_id is None else device_id}"

    def discovery(self, prefix: str, device_id: int | None) -> str:
        """The message for Home Assistant of a device, or of the hub (None), retained."""
        return f"{prefix}/device/{self.node(device_id)}/config"

    def is_own(self, topic: str) -> bool:
        """Whether a topic is below `PREFIX/HUB`, or is that."""
        return f"{topic}/".startswith(f"{self.root}/")

    def device_id(self, topic: str) -> int | None:
        """The device whose record a topic has; None for any other topic."""
        found = _DEVICE.fullmatch(topic.removeprefix(f"{self.root}/"))
        return int(found[1]) if found is not None and self.is_own(topic) else None

    def interface(self, name: str) -> str:
        """The record of an interface, retained. What has a meaning in filters is escaped as in a URL."""
        return f"{self.root}/interfaces/{quote(name, safe=_IN_TOPICS)}"

    def is_interface(self, topic: str) -> bool:
        """Whether a topic has the record of an interface."""
        return topic.startswith(f"{self.root}/interfaces/")

    def result(self, target: Target) -> str:
        """Where a command is answered that has no response topic."""
        return f"{self._of(target)}/result"

    def _of(self, target: Target) -> str:
        if target.everyone:
            return f"{self.root}/{_EVERYONE}"
        return self.root if target.device_id is None else self.device(target.device_id)

    def target(self, topic: str) -> Target | None:
        """The target of a command topic; None for any other topic."""
        below = topic.removeprefix(f"{self.root}/")
        if below == topic:
            return None
        if below == "command":
            return Target(None)
        if below == f"{_EVERYONE}/command":
            return Target(None, everyone=True)
        found = _DEVICE_COMMAND.fullmatch(below)
        return None if found is None else Target(int(found[1]))

    def is_command(self, topic: str) -> bool:
        """Whether one of the filters `commands` has this topic."""
        return self.is_own(topic) and _ANY_COMMAND.fullmatch(topic, len(self.root) + 1) is not None

    def may_answer_at(self, topic: str) -> bool:
        """Whether a client may have its answer there: below `PREFIX/HUB/response/`, or outside of all hubs
        and of the broker's own topics. An answer elsewhere could be taken for a command or a record."""
        if not 0 < len(topic) <= LONGEST_RESPONSE or topic.count("/") >= RESPONSE_LEVELS:
            return False
        if re.search(r"[+#\x00-\x1f\x7f]", topic):
            return False
        if topic.startswith(f"{self.root}/response/"):
            return True
        taken = (self.prefix, *self.others)
        return not topic.startswith("$") and not any(f"{topic}/".startswith(f"{one}/") for one in taken)
