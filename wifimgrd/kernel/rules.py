"""IPv4 routing rules of the kernel. The numbers are those of include/uapi/linux/fib_rules.h."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final

from wifimgrd.kernel._messages import attribute, attributes, number, text
from wifimgrd.kernel.routes import TABLES
from wifimgrd.kernel.rtnetlink import Action, listed

NEW_RULE, DELETE_RULE, _GET_RULE = 32, 33, 34
_HEADER: Final = struct.Struct("=BBBBBBBBI")
"""struct fib_rule_hdr: family, lengths of destination and source, type of service, table, two reserved
bytes, action, flags."""
_ALL: Final = _HEADER.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0)
_REMEMBERED: Final = 256
_INTERFACE, _PRIORITY, _MARK, _TABLE = 3, 6, 10, 15


class RuleAction(IntEnum):
    """The action of a rule."""

    UNKNOWN = 0
    LOOKUP = 1
    GOTO = 2
    NOP = 3
    BLACKHOLE = 6
    UNREACHABLE = 7
    PROHIBIT = 8

    @classmethod
    def _missing_(cls, _: object) -> RuleAction:
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, as far as it is about a mark and the interface on which a packet has come in."""

    priority: int
    mark: int | None = None
    interface: str = ""
    """The name; the kernel keeps a rule for one that is gone."""
    table: int = 0
    """The one to look up."""
    action: RuleAction = RuleAction.LOOKUP

    def __str__(self) -> str:
        words = [f"rule {self.priority}"]
        if self.interface:
            words.append(f"iif {self.interface}")
        if self.mark is not None:
            words.append(f"fwmark {self.mark:#x}")
        words.append(self.action.name.lower())
        if self.table:
            words.append(str(TABLES.get(self.table, self.table)))
        return " ".join(words)

    def encode(self, action: Action) -> tuple[int, bytes]:
        """See Entry."""
        body = _HEADER.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0, self.action, 0)
        body += attribute(_PRIORITY, self.priority)
        if self.interface:
            body += attribute(_INTERFACE, self.interface)
        if self.mark is not None:
            body += attribute(_MARK, self.mark)
        if self.table:
            body += attribute(_TABLE, self.table)
        return DELETE_RULE if action is Action.DELETE else NEW_RULE, body


def list_rules() -> list[Rule]:
    """The rules, in their order. Raises KernelError."""
    return [rule_in(body) for body in listed(_GET_RULE, NEW_RULE, _ALL)]


@lru_cache(maxsize=_REMEMBERED)
def rule_in(body: bytes) -> Rule:
    """The rule that a message is about. Most rules are listed again and again."""
    *_, table, _, _, action, _ = _HEADER.unpack_from(body)
    found = attributes(body, _HEADER.size)
    return Rule(
        number(found.get(_PRIORITY)),
        number(found[_MARK]) if _MARK in found else None,
        text(found.get(_INTERFACE)),
        number(found.get(_TABLE), table) if action == RuleAction.LOOKUP else 0,
        RuleAction(action),
    )
