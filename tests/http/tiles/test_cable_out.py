"""With the network cable out: tiles come to plain curl on a host that has no network at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.http.tiles.conftest import KINDS
from tests.http.tiles.making import Place

PLATFORM = "/plugin-views/platform_plugin_map/map/offline-tiles/?z=2&x=1&y=1"
PATHS = [f"/tiles/{kind}/2/1/1.png" for kind in KINDS] + [
    PLATFORM,
    "/tiles/relayed/2/1/1.png",
    "/tiles/pmtiles/9/0/0",
]


@pytest.fixture(scope="module")
def reported(places: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What happened in a network namespace without a network."""
    tables = [f'tileset = "{kind}"\ntype = "{kind}"\npath = "{places[kind]}"\n' for kind in KINDS]
    tables.append('tileset = "relayed"\ntype = "upstream"\nurl = "http://tiles.example/{z}/{x}/{y}.png"\n')
    config = tmp_path_factory.mktemp("cable-out") / "wifimgrd.toml"
    config.write_text("".join(f"[[tiles.source]]\n{table}" for table in tables))
    inside = [sys.executable, "-m", "tests.http.tiles.cable_out", str(config), *PATHS]
    # Root needs no user namespace, which a chroot would not grant.
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    ran = subprocess.run(
        ["unshare", *as_root, "--net", *inside], check=True, stdout=subprocess.PIPE, timeout=60
    )
    return json.loads(ran.stdout)


def test_there_is_no_network(reported: Any) -> None:
    assert reported["interfaces"] == ["lo"]


def test_curl_gets_the_tiles_of_files(reported: Any, world: Mapping[Place, bytes]) -> None:
    expected = {"status": "200 image/png", "body": world[2, 1, 1].hex()}
    assert reported["answers"][:4] == [expected] * 4


def test_a_tile_server_that_is_elsewhere_is_reported_as_away(reported: Any) -> None:
    assert reported["answers"][4]["status"] == "502 application/problem+json"


def test_a_missing_tile_is_not_found(reported: Any) -> None:
    assert reported["answers"][5]["status"] == "404 application/problem+json"
