"""The descriptions of the API that are shipped are those of the code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.descriptions.openapi import openapi
from tools.generate_descriptions import DESCRIPTIONS, text_of
from wifimgrd.config import TileSource


@pytest.mark.parametrize("file", DESCRIPTIONS, ids=lambda file: file.name)
def test_it_is_current(file: Path) -> None:
    assert file.read_text() == text_of(file), "run tools/generate_descriptions.py"


def test_it_is_the_same_with_tilesets(tmp_path: Path) -> None:
    sources = (TileSource("map", "folder", tmp_path),)
    with_tilesets = openapi(with_token=False, tile_sources=sources)
    assert json.dumps(with_tilesets) == json.dumps(openapi(with_token=False))
