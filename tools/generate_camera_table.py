#!/usr/bin/env python3
"""generate_camera_table.py: write the tables of models in docs/cameras.md from wifimgrd/config/catalog.

tests/test_descriptions.py proves that it is current.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from wifimgrd.config import catalog  # noqa: E402
from wifimgrd.domain.camera_model import GENERIC, CameraModel, Evidence  # noqa: E402

DOCUMENT: Final = CHECKOUT / "docs" / "cameras.md"
_WORDS: Final = {Evidence.MAKER: "maker", Evidence.THIRD_PARTY: "third party", Evidence.NONE: "not verified"}
_NOT_DONE: Final = "-"


def with_tables(document: str) -> str:
    """The text of the document with the tables of the shipped models."""
    models = [one for one in catalog.load().values() if one.codename != GENERIC.codename]
    for name, lines in {"models": _lines(models), "no still": _reasons(models)}.items():
        place = re.compile(rf"(<!-- {name} -->\n\n).*(\n<!-- end of {name} -->)", re.DOTALL)
        before, begin, end, after = place.split(document)
        document = "".join((before, begin, *lines, end, after))
    return document


def _lines(models: Iterable[CameraModel]) -> Iterable[str]:
    yield "| model | codename | wake | pair | state | record | clock | still |\n"
    yield "|---|---|---|---|---|---|---|---|\n"
    for model in models:
        yield f"| {' | '.join((model.device_name, f'`{model.codename}`', *_cells(model)))} |\n"


def _reasons(models: Iterable[CameraModel]) -> Iterable[str]:
    """Each reason once, with the models that it is true of."""
    yield "| models | why the hub shows no still of them |\n"
    yield "|---|---|\n"
    told: dict[str, list[str]] = {}
    for model in models:
        if model.snapshot is None:
            told.setdefault(model.no_snapshot, []).append(model.device_name)
    for reason, names in told.items():
        yield f"| {', '.join(names)} | {reason} |\n"


def _cells(model: CameraModel) -> Iterable[str]:
    bluetooth, verified, is_spoken_to = model.bluetooth, model.verified, model.control is not None
    for is_done, evidence in (
        (bluetooth is not None, verified.wake),
        (bluetooth is not None and bluetooth.pairing, verified.pair),
        (is_spoken_to, verified.state),
        (is_spoken_to, verified.record),
        (is_spoken_to, verified.clock),
        (model.snapshot is not None, verified.snapshot),
    ):
        yield _WORDS[evidence] if is_done else _NOT_DONE


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text()))
