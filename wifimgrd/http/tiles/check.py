"""Checks of tilesets by their configuration: which sources exist, and whether they are damaged."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from wifimgrd.config.configuration import TileSource
from wifimgrd.http.tiles._coordinates import exists
from wifimgrd.http.tiles._source import FileSource
from wifimgrd.http.tiles._tile import DamagedError, UnavailableError
from wifimgrd.http.tiles._tileset import OPENERS
from wifimgrd.http.tiles._upstream import UpstreamSlot

_SHIM_TIMEOUT_S: Final = 10.0

Progress = Callable[[str, int, int], None]
"""Called with the step, the progress and the total."""


@dataclass(slots=True)
class SourceReport:
    """One source."""

    type: str
    place: str
    problem: str | None = None
    """Why it cannot be used; None = there is no error."""
    summary: dict[str, object] | None = None
    """Its summary, as in `/healthz?verbose`."""
    tiles: dict[int, int] = field(default_factory=dict)
    """The number of tiles of each zoom; empty for an upstream."""
    remarks: list[str] = field(default_factory=list)
    """Things found beside tiles that are not errors."""


@dataclass(slots=True)
class TilesetReport:
    """One tileset."""

    tileset: str
    sources: list[SourceReport] = field(default_factory=list)
    shim: str | None = None
    """The error in the running shim's answers; None = there is none, or it was not checked."""

    @property
    def is_well(self) -> bool:
        """Whether there are no errors."""
        return self.shim is None and not any(one.problem for one in self.sources)

    def as_json(self) -> dict[str, object]:
        """The report as JSON."""
        return {**asdict(self), "ok": self.is_well}


@dataclass(frozen=True, slots=True)
class Question:
    """The options of a check beside the sources themselves."""

    url: str | None = None
    """Of the running shim."""
    token: str | None = None
    deep: bool = True
    """Read all of each file; else only open it."""


async def check(sources: Sequence[TileSource], question: Question, progress: Progress) -> TilesetReport:
    """Check the sources of one tileset."""
    report = TilesetReport(sources[0].tileset)
    opened: list[FileSource | UpstreamSlot] = []
    try:
        for source in sources:
            one: FileSource | UpstreamSlot | None
            if source.path is not None:
                source_report, one = await asyncio.to_thread(
                    _check_file, source.type, source.path, question, progress
                )
            else:
                source_report, one = await _check_upstream(source)
            report.sources.append(source_report)
            if one is not None:
                opened.append(one)
        if question.url is not None:
            missing = sources[0].missing
            report.shim = await asyncio.to_thread(
                _request_from_shim, question, report.tileset, missing, opened
            )
    finally:
        for one in opened:
            if isinstance(one, UpstreamSlot):
                await one.stop()
    return report


def _check_file(
    kind: str, path: Path, question: Question, progress: Progress
) -> tuple[SourceReport, FileSource | None]:
    report = SourceReport(kind, str(path))
    source: FileSource | None = None
    try:
        source = OPENERS[kind](path)
        report.summary = source.summary.as_json()
        if question.deep:
            for done, total in source.verify(report.tiles):
                progress(f"checking {path.name}", done, total)
            report.remarks.extend(source.remarks)
    except DamagedError as error:
        report.problem = str(error)
    except OSError as error:
        report.problem = f"it cannot be opened: {error.strerror}"
    return report, source


async def _check_upstream(source: TileSource) -> tuple[SourceReport, UpstreamSlot]:
    slot = UpstreamSlot(source.tileset, source.url or "")
    report = SourceReport(source.type, slot.place, summary=slot.summary.as_json())
    try:
        await slot.fetch(0, 0, 0)
    except UnavailableError as error:
        report.problem = str(error)
    return report, slot


def _request_from_shim(
    question: Question, tileset: str, missing: int | str, opened: Sequence[FileSource | UpstreamSlot]
) -> str | None:
    """Request a tile that no file has from the running shim; returns the error in its answer."""
    deepest = max((one.summary.maxzoom for one in opened), default=0)
    z = deepest + 1 if exists(deepest + 1, 0, 0) else deepest
    address = f"{(question.url or '').rstrip('/')}/tiles/{tileset}/{z}/{(1 << z) - 1}/{(1 << z) - 1}"
    headers = {"Authorization": f"Bearer {question.token}"} if question.token else {}
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - the caller's own address
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_SHIM_TIMEOUT_S) as answer:
            status = int(answer.status)
    except urllib.error.HTTPError as error:
        status = error.code
        error.close()
    except (OSError, ValueError) as error:
        return f"{question.url} does not answer: {error}"
    expected = {404: 404, 204: 204, "blank": 200}[missing]
    return None if status == expected else f"a missing tile is answered with {status}, not {expected}"
