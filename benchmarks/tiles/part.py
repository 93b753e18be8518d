"""CPU time per answered tile: ours against nginx with static files and tileserver-gl-light.

Random tiles over 16 connections, one request in ten for a tile that is not there, every byte checked;
the servers take turns, so that the host's mood is everybody's.
"""

from __future__ import annotations

import asyncio
import pickle
import random
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks import progress
from benchmarks.accounting import Account
from benchmarks.table import Row, Target
from benchmarks.tiles.cold import cold_reads, planet_reads
from benchmarks.tiles.ranges import ranges
from benchmarks.tiles.servers import TILESERVER, nginx, running_nginx, running_shim, running_tileserver
from tests.http.tiles.making import PNG, pyramid, write_folder, write_mbtiles, write_pmtiles

_ROUNDS: Final = 3
_REQUESTS: Final = 20_000
_FEWER: Final = 2_000
"""For tileserver-gl-light, which takes its time."""
_LEAST: Final = {"pmtiles": 0.22, "mbtiles": 0.18, "folder": 0.12}
"""Requests per CPU second, against nginx."""
_LEAST_OF_TILESERVER: Final = 8
_PATTERN: Final = "/tiles/{kind}/{{z}}/{{x}}/{{y}}.png"


def measure() -> list[Row]:
    """All rows of tiles."""
    if nginx() is None:
        progress.say("tiles: nginx is not installed")
        return []
    with tempfile.TemporaryDirectory(prefix="wifimgrd-bench-") as name, ExitStack() as running:
        folder = Path(name)
        progress.say("tiles: writing 21,845 tiles, 1 to 12 kB each, as three kinds of file")
        truth, sources = _written(folder)
        served = {
            "nginx": (*running.enter_context(running_nginx(folder, sources["folder"])), "/{z}/{x}/{y}.png")
        }
        shim = running.enter_context(running_shim(folder, sources))
        served |= {kind: (*shim, _PATTERN.format(kind=kind)) for kind in sources}
        if TILESERVER.exists():
            other = running.enter_context(running_tileserver(folder, sources["mbtiles"]))
            served["tileserver"] = (*other, "/data/world/{z}/{x}/{y}.png")
        samples: dict[str, list[float]] = {who: [] for who in served}
        for turn in range(_ROUNDS + 1):
            progress.say(f"tiles: turn {turn} of {_ROUNDS}" if turn else "tiles: warming up")
            for who, (account, port, pattern) in served.items():
                count = _FEWER if who == "tileserver" else _REQUESTS
                cost = _cost(account, port, pattern, truth, count, turn)
                if turn:
                    samples[who].append(cost)
        rows = [_against_nginx(kind, samples) for kind in sources]
        if "tileserver" in samples:
            rows += [_against_tileserver(kind, samples) for kind in sources]
        held = shim[0].memory().rss_mb
        note = "three tilesets of 21,845 tiles, 150 MB each, after 240,000 answers"
        places = [place for place in pickle.loads(truth.read_bytes()) if place[0] > 5]
        rows += asyncio.run(cold_reads(sources, places))
        rows += asyncio.run(planet_reads(folder))
        rows += ranges()
        return [*rows, Row("tiles", "memory of the shim with tiles", "MB", [held], note=note)]


def _written(folder: Path) -> tuple[Path, dict[str, Path]]:
    chance = random.Random(4)
    tiles = {place: PNG + chance.randbytes(chance.randrange(1000, 12000)) for place in pyramid(7)}
    truth = folder / "truth"
    truth.write_bytes(pickle.dumps(tiles))
    (folder / "data").mkdir()
    return truth, {
        "pmtiles": write_pmtiles(folder / "data/world.pmtiles", tiles),
        "mbtiles": write_mbtiles(folder / "data/world.mbtiles", tiles, minzoom="0", maxzoom="8"),
        "folder": write_folder(folder / "folder", tiles),
    }


def _cost(account: Account, port: int, pattern: str, truth: Path, count: int, seed: int) -> float:
    """Microseconds of CPU for an answer."""
    before = account.cpu_s()
    command = [sys.executable, "-m", "benchmarks.tiles.load", str(port), pattern, str(truth)]
    ran = subprocess.run([*command, str(count), str(seed)], stdout=subprocess.PIPE, check=True)
    answered = int(ran.stdout)
    if answered != count:
        raise RuntimeError(f"{answered} of {count} requests were answered")
    return (account.cpu_s() - before) / count * 1e6


def _against_nginx(kind: str, samples: dict[str, list[float]]) -> Row:
    return Row(
        "tiles", f"CPU time of a tile, {kind}", "us", samples[kind], samples["nginx"], "nginx, static files",
        Target("ratio", 1 / _LEAST[kind]), True,
        f"at least {_LEAST[kind]} of nginx's requests per CPU second",
    )  # fmt: skip


def _against_tileserver(kind: str, samples: dict[str, list[float]]) -> Row:
    return Row(
        "tiles", f"CPU time of a tile, {kind}", "us", samples[kind], samples["tileserver"],
        "tileserver-gl-light", Target("ratio", 1 / _LEAST_OF_TILESERVER), True,
        f"at least {_LEAST_OF_TILESERVER} times its requests per CPU second",
    )  # fmt: skip
