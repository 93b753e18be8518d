"""An archive of 220 million tiles takes little memory, whatever is asked of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.http.tiles.making import Place
from tests.http.tiles.planet import write_planet
from wifimgrd.http.tiles._pmtiles import PMTilesSource

pytestmark = pytest.mark.slow

AT_MOST_MB = 64
ASKED = 100
"""Places, each by a leaf of its own: what is kept of leaves is full by then."""

MEASURED = """
import sys
from pathlib import Path
from wifimgrd.http.tiles._pmtiles import PMTilesSource

def highest_mb():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024

before = highest_mb()
source = PMTilesSource(Path(sys.argv[1]))
for place in sys.argv[2:]:
    assert source.read(*map(int, place.split("/"))) is not None
print(highest_mb() - before)
"""


@pytest.fixture(scope="module")
def planet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Place, bytes]]:
    path = tmp_path_factory.mktemp("planet") / "planet.pmtiles"
    return path, write_planet(path)


def test_it_is_as_large_as_the_planets(planet: tuple[Path, dict[Place, bytes]]) -> None:
    path, _ = planet
    assert path.stat().st_size > 100e9
    assert path.stat().st_blocks * 512 < 200e6


def test_its_tiles_are_read_right(planet: tuple[Path, dict[Place, bytes]]) -> None:
    path, written = planet
    source = PMTilesSource(path)
    read = {place: tile.data for place in written if (tile := source.read(*place)) is not None}
    assert read == written


def test_its_memory_is_bounded(planet: tuple[Path, dict[Place, bytes]]) -> None:
    path, written = planet
    asked = ["/".join(map(str, place)) for place in list(written)[:ASKED]]
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path), *asked], check=True, stdout=subprocess.PIPE, timeout=120
    )
    assert float(ran.stdout) < AT_MOST_MB
