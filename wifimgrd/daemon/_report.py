"""The daemon's report of a fault: what it can say itself, with aliases for all names.

The daemon cannot read journals or run programs; `wifimgrctl diagnose` does.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wifimgrd import __version__
from wifimgrd.config.configuration import Config
from wifimgrd.daemon.manager.history import History
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.domain.history import HistoryFilter, HistoryRow
from wifimgrd.domain.records import (
    DeviceRecord,
    InterfaceRecord,
    ServiceRecord,
    device_record,
    interface_record,
)
from wifimgrd.report.anonymize import Anonymizer
from wifimgrd.report.sections import as_text, machine_key, report, state_of, versions
from wifimgrd.report.settings import settings_of
from wifimgrd.runtime.task_dump import kinds
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire.kinds import time_text

LARGEST: Final = 256 * 1024
"""Bytes of a report; the end of a longer one is left out."""
KEPT_S: Final = 5.0
"""How long a report is returned to whoever requests one, before another is made."""
_MOST_DEVICES: Final = 100
_ROWS: Final = 100
_CHECK_S: Final = 2.0
_CUT: Final = "\n(The rest is left out: a report has at most 256 kB.)\n"
_ABOUT: Final = (
    "The daemon's own report. On the host, `wifimgrctl diagnose` has more: journals, units, other programs.\n"
    "Names of networks, devices and the host, MAC addresses and the serial numbers of cameras are replaced\n"
    "by aliases. Of settings that are free text it says only that they are set. Please read it before you\n"
    "send it.\n\n"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """The contents of the report."""

    service: ServiceRecord
    interfaces: Mapping[str, InterfaceRecord]
    devices: Sequence[DeviceRecord]
    config: Config
    history: Sequence[HistoryRow]
    tasks: Mapping[str, int]
    """The number of tasks by what they do."""
    dead: Sequence[str]
    """Tasks that are gone, and checks that hang."""


class DaemonReport:
    """Makes the report, at most once in KEPT_S: who requests one in between gets the last one."""

    def __init__(
        self, hub: Hub, config: Callable[[], Config], history: History, root: Tasks, tasks: Tasks
    ) -> None:
        """`config` returns the configuration in use, `root` are the tasks that the report is about."""
        self._hub = hub
        self._config = config
        self._history = history
        self._root = root
        self._tasks = tasks
        self._latest: asyncio.Task[str] | None = None

    async def text(self) -> str:
        """The report, at most LARGEST bytes."""
        if self._latest is None:
            self._latest = self._tasks.start("report", self._make())
            self._latest.add_done_callback(self._forget_later)
        return await asyncio.shield(self._latest)

    def _forget_later(self, _: asyncio.Task[str]) -> None:
        asyncio.get_running_loop().call_later(KEPT_S, self._forget)

    def _forget(self) -> None:
        self._latest = None

    async def _make(self) -> str:
        hub, backend = self._hub, self._hub.backend_status
        interfaces = map(interface_record, hub.interface_statuses())
        history = await self._history.read(HistoryFilter(limit=_ROWS))
        facts = Facts(
            ServiceRecord(
                __version__, hub.backend_name, hub.backend_choice, backend.state.value, backend.reason
            ),
            {one.name: one for one in interfaces},
            list(map(device_record, hub.device_statuses())),
            self._config(),
            history,
            kinds(),
            await self._root.find_dead(_CHECK_S),
        )
        try:
            key = machine_key()
        except OSError:
            key = os.urandom(16)
        # It takes a while with many names.
        return await asyncio.to_thread(report_text, facts, key, socket.gethostname())


def report_text(facts: Facts, key: bytes, host: str) -> str:
    """The report. `key` is that of the aliases, `host` the host's name."""
    aliases = Anonymizer(key)
    aliases.hide("HOST", [host])
    state = dict(state_of(facts.service, facts.interfaces, facts.devices[:_MOST_DEVICES]))
    state["devices_in_all"] = len(facts.devices)
    texts = {
        "Versions": versions(),
        "Tasks": "\n".join(
            [
                *(f"{count} {kind}" for kind, count in sorted(facts.tasks.items())),
                f"gone or not answering: {', '.join(facts.dead) or 'none'}",
            ]
        ),
        "History": "\n".join(map(_history_line, facts.history)),
    }
    sections = report(aliases, facts.devices, state, texts)
    settings = aliases.applied_to_value(settings_of(facts.config))
    sections = {"Configuration": json.dumps(settings, indent=1, ensure_ascii=False), **sections}
    text = _ABOUT + "\n".join(as_text(sections))
    data = text.encode("utf-8", "replace")
    if len(data) > LARGEST:
        data = data[: LARGEST - len(_CUT)].rpartition(b"\n")[0] + _CUT.encode()
    return data.decode()


def _history_line(row: HistoryRow) -> str:
    """A row without its sentence, which may name a device that was removed since."""
    parts = [time_text(row.time_us), row.kind.value, row.code or "-"]
    if row.device_id is not None:
        parts.append(f"device {row.device_id}")
    if row.interface:
        parts.append(row.interface)
    if row.ended_us:
        parts.append(f"until {time_text(row.ended_us)}")
    if row.signal_mean is not None:
        parts.append(f"signal {row.signal_mean} %, lowest {row.signal_minimum} %")
    return "  ".join(parts)
