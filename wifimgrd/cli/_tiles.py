"""`wifimgrctl tiles`: the configured tilesets, and whether they are whole. Needs no daemon."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Cell, Column
from wifimgrd.cli._text import Style, safe
from wifimgrd.config import configuration as config
from wifimgrd.config.configuration import TileSource
from wifimgrd.http.settings import read_token
from wifimgrd.http.tiles.check import Progress, Question, TilesetReport, check
from wifimgrd.http.tiles.map.check import MapReport, check_map
from wifimgrd.runtime import logging as log

_WRONG: Final = "invalid-request"
_BAR: Final = 24
_HEADS: Final = (
    Column("TILESET", least=12),
    Column("TYPE", rank=3),
    Column("STATE"),
    Column("ZOOMS", rank=2),
    Column("PLACE", least=24),
    Column("REASON", rank=1, is_optional=True, goes_below=True),
)


async def tiles(arguments: argparse.Namespace, screen: Screen) -> bool:
    """List or check tilesets; False if there is an error."""
    log.configure(logging.CRITICAL)  # the report contains all that sources would log
    try:
        configuration = config.load(arguments.config)
        token_file = configuration.http.token_file
        wants_token = arguments.action == "check" and arguments.url is not None
        token = read_token(token_file) if wants_token and token_file is not None else None
    except config.ConfigError as error:
        screen.fail(_WRONG, str(error))
        return False
    sources = configuration.tiles.source
    wanted = getattr(arguments, "tileset", None)
    names = list(dict.fromkeys(one.tileset for one in sources if wanted in (None, one.tileset)))
    if wanted is not None and not names:
        screen.fail("tile-not-found", f"no tileset {wanted} is configured")
        return False
    checks_map = arguments.action == "check" and wanted is None and configuration.map != config.Map()
    if not names and not checks_map and not screen.json:
        screen.hint("No tilesets are configured. Add a [[tiles.source]] to the configuration.")
        return True
    question = Question(arguments.url, token) if arguments.action == "check" else Question(deep=False)
    reports = [await _report(sources, name, question, screen) for name in names]
    maps = [await _map_report(configuration, screen)] if checks_map else []
    screen.progress("")
    if arguments.action == "check":
        lines = _findings(reports, screen) + [line for one in maps for line in _map_findings(one, screen)]
        both: list[TilesetReport | MapReport] = [*reports, *maps]
        screen.show([report.as_json() for report in both], lines)
        return all(report.is_well for report in both)
    screen.show([report.as_json() for report in reports], _list(reports, screen))
    return True


async def _report(
    sources: Sequence[TileSource], name: str, question: Question, screen: Screen
) -> TilesetReport:
    of_it = [one for one in sources if one.tileset == name]
    return await check(of_it, question, _progress(name, screen))


async def _map_report(configuration: config.Config, screen: Screen) -> MapReport:
    settings = replace(configuration.map, tiles=configuration.map_tiles)
    sources = configuration.tiles.source
    return await asyncio.to_thread(check_map, settings, sources, _progress("map", screen))


def _progress(name: str, screen: Screen) -> Progress:
    def progress(what: str, done: int, total: int) -> None:
        full = _BAR * done // max(total, 1)
        bar = "#" * full + "." * (_BAR - full)
        screen.progress(f"{safe(name)}: {safe(what)} [{bar}] {100 * done // max(total, 1)} %")

    return progress


def _list(reports: Sequence[TilesetReport], screen: Screen) -> list[str]:
    rows = [
        [
            report.tileset,
            one.type,
            Cell("unavailable", Style.BAD) if one.problem else Cell("available", Style.GOOD),
            "{minzoom}-{maxzoom}".format(**one.summary) if one.summary else None,
            one.place,
            one.problem,
        ]
        for report in reports
        for one in report.sources
    ]
    return screen.table(_HEADS, rows)


def _verdict(name: str, screen: Screen, *, is_well: bool) -> str:
    verdict, style = ("complete", Style.GOOD) if is_well else ("INCOMPLETE OR DAMAGED", Style.BAD)
    return f"{safe(name)}: {screen.styled(verdict, style)}"


def _map_findings(report: MapReport, screen: Screen) -> list[str]:
    problems = [f"  {safe(one)}" for one in report.problems]
    return [_verdict("[map]", screen, is_well=report.is_well), *problems]


def _findings(reports: Sequence[TilesetReport], screen: Screen) -> list[str]:
    lines = []
    for report in reports:
        lines.append(_verdict(report.tileset, screen, is_well=report.is_well))
        for one in report.sources:
            lines.append(f"  {one.type} {safe(one.place)}: {safe(one.problem or 'ok')}")
            lines += [f"    {safe(remark)}" for remark in one.remarks]
            if one.tiles:
                counts = ", ".join(f"{zoom}: {count}" for zoom, count in one.tiles.items())
                lines.append(f"    tiles per zoom  {counts}")
        if report.shim is not None:
            lines.append(f"  shim: {safe(report.shim)}")
    return lines
