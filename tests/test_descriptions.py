"""The descriptions of the API that are shipped are those of the code, and leave enumerations open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

import pytest

from tools.descriptions.json_schema import Schemas
from tools.descriptions.openapi import openapi
from tools.generate_camera_table import DOCUMENT, with_tables
from tools.generate_dbus_reference import REFERENCE, reference
from tools.generate_descriptions import DESCRIPTIONS, text_of
from wifimgrd.config.configuration import TileSource


@pytest.mark.parametrize("file", DESCRIPTIONS, ids=lambda file: file.name)
def test_it_is_current(file: Path) -> None:
    assert file.read_text() == text_of(file), "run tools/generate_descriptions.py"


def test_the_reference_of_the_bus_is_current() -> None:
    assert REFERENCE.read_text() == reference(), "run tools/generate_dbus_reference.py"


def test_the_table_of_models_is_current() -> None:
    document = DOCUMENT.read_text()
    assert document == with_tables(document), "run tools/generate_camera_table.py"


@pytest.mark.parametrize("file", DESCRIPTIONS, ids=lambda file: file.name)
def test_what_the_hub_sends_may_have_values_that_are_not_known_yet(file: Path) -> None:
    device = json.loads(file.read_text())["components"]["schemas"]["Device"]
    status = device["properties"]["connection_status"]
    assert "connected" in status["x-extensible-enum"]
    assert "enum" not in status


def test_what_a_client_sends_is_one_of_the_listed_values() -> None:
    paths = openapi(with_token=False)["paths"]
    connect = next(one["get"] for path, one in paths.items() if path.endswith("/wifi/connect"))
    values = {one["name"]: one["schema"].get("enum") for one in connect["parameters"]}
    assert values["when_free"] == ["0", "1", "false", "true"]


def test_it_is_the_same_with_tilesets(tmp_path: Path) -> None:
    sources = (TileSource("map", "folder", tmp_path),)
    with_tilesets = openapi(with_token=False, tile_sources=sources)
    assert json.dumps(with_tilesets) == json.dumps(openapi(with_token=False))


def test_a_type_that_json_does_not_have_is_an_error() -> None:
    class Odd(TypedDict):
        inside: set[str]

    with pytest.raises(TypeError):
        Schemas().of(Odd)
