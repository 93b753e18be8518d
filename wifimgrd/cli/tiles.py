"""`wifimgrctl tiles`: the configured tilesets, and whether they are whole. Asks no daemon."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Final

from wifimgrd import config
from wifimgrd.cli.screen import Screen
from wifimgrd.cli.table import Cell
from wifimgrd.cli.text import Style, safe
from wifimgrd.config import TileSource
from wifimgrd.http.settings import read_token
from wifimgrd.http.tiles.check import Question, TilesetReport, check
from wifimgrd.runtime import logging as log

_WRONG: Final = "invalid-request"
_BAR: Final = 24


async def tiles(arguments: argparse.Namespace, screen: Screen) -> bool:
    """List or check tilesets; False where something is wrong."""
    log.configure(logging.CRITICAL)  # the report says all that sources would log
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
    if not names and not screen.json:
        screen.hint("No tileset is configured; [[tiles.source]] in the configuration names one.")
        return True
    if arguments.action == "check":
        question = Question(arguments.bbox, arguments.zoom, arguments.url, token)
    else:
        question = Question(deep=False)
    reports = [await _report(sources, name, question, screen) for name in names]
    screen.progress("")
    if arguments.action == "check":
        screen.show([report.as_json() for report in reports], _findings(reports, screen))
        return all(report.is_well for report in reports)
    screen.show([report.as_json() for report in reports], _list(reports, screen))
    return True


async def _report(
    sources: Sequence[TileSource], name: str, question: Question, screen: Screen
) -> TilesetReport:
    def progress(what: str, done: int, total: int) -> None:
        full = _BAR * done // max(total, 1)
        bar = "#" * full + "." * (_BAR - full)
        screen.progress(f"{safe(name)}: {safe(what)} [{bar}] {100 * done // max(total, 1)} %")

    return await check([one for one in sources if one.tileset == name], question, progress)


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
    return screen.table(["TILESET", "TYPE", "STATE", "ZOOMS", "PLACE", "(REASON)"], rows)


def _findings(reports: Sequence[TilesetReport], screen: Screen) -> list[str]:
    lines = []
    for report in reports:
        verdict = "whole" if report.is_well else "NOT WHOLE"
        style = Style.GOOD if report.is_well else Style.BAD
        lines.append(f"{safe(report.tileset)}: {screen.styled(verdict, style)}")
        for one in report.sources:
            lines.append(f"  {one.type} {safe(one.place)}: {safe(one.problem or 'ok')}")
            if one.tiles:
                counts = ", ".join(f"{zoom}: {count}" for zoom, count in one.tiles.items())
                lines.append(f"    tiles per zoom  {counts}")
        if report.asked:
            lines.append(f"  {report.missing} of {report.asked} tiles of the box are missing")
            lines += [f"    {place}" for place in report.examples]
            if report.missing > len(report.examples):
                lines.append(f"    and {report.missing - len(report.examples)} more")
        if report.shim is not None:
            lines.append(f"  shim: {safe(report.shim)}")
    return lines
