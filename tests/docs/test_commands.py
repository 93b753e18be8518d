"""The commands that documents print for a checkout do what they say: beside `make run`, and those of make."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.docs.code_blocks import (
    CHECKOUT,
    COMMANDS,
    DOCUMENTS,
    HISTORY,
    Step,
    blocks_at,
    code_blocks,
    code_in_lines,
)
from tests.docs.private_host import PrivateHost, private_host
from tests.docs.terminal import Terminal, is_as_printed
from tests.http.tiles.making import pyramid, write_pmtiles
from tests.mqtt.mosquitto import PROGRAM
from tests.test_make_run import NOT_BELOW_MAKE
from wifimgrd.cli._arguments import parser

BESIDE_MAKE_RUN = blocks_at("make-run")
IN_CHECKOUT = blocks_at("checkout")
STOP_S = 20


@contextmanager
def tiles(host: PrivateHost) -> Iterator[None]:
    """A tileset, and a newer one."""
    host.file("/srv/tiles").mkdir()
    for file in ("/srv/tiles/world.pmtiles", "world-new.pmtiles"):
        write_pmtiles(host.file(file), pyramid(5))
    yield


@contextmanager
def token(host: PrivateHost) -> Iterator[None]:
    host.file("token").write_text("0123456789abcdef\n")
    yield


@contextmanager
def broker(host: PrivateHost) -> Iterator[None]:
    """A Mosquitto with the document's configuration."""
    with subprocess.Popen([*host.inside, PROGRAM, "-c", "broker.conf"], stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


BEFORE: dict[str, Callable[[PrivateHost], AbstractContextManager[None]]] = {
    "docs/tiles.md": tiles,
    "docs/http.md": token,
    "docs/mqtt.md": broker,
}
"""What a document expects to be there."""


@pytest.mark.slow
@pytest.mark.parametrize("document", BESIDE_MAKE_RUN)
def test_commands_beside_make_run(document: str, tmp_path: Path) -> None:
    with private_host() as host:
        run_beside_make_run(host, document, tmp_path / "log")


def run_beside_make_run(host: PrivateHost, document: str, log: Path) -> None:
    """Type what a document prints for a second terminal beside `make run`."""
    for block in code_blocks(document):
        if block.language not in COMMANDS and block.where:
            file = host.file(block.where)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
    blocks = BESIDE_MAKE_RUN[document]
    with (
        BEFORE.get(document, nullcontext)(host),
        making_run(host, start_of(document), log),
        Terminal(host.inside) as terminal,
    ):
        for block in blocks:
            terminal.run(block)


def start_of(document: str) -> Step:
    """How the document starts it, and the line that it prints then."""
    start = Step("make run", "")
    for block in IN_CHECKOUT.get(document, ()):
        steps = block.steps if block.language == "console" else [Step(line, "") for line in block.commands]
        start = next((one for one in steps if one.command.split()[:2] == ["make", "run"]), start)
    return start


@contextmanager
def making_run(host: PrivateHost, start: Step, log: Path) -> Iterator[None]:
    """`make run` as it is printed."""
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [*host.inside, *shlex.split(start.command)],
            env=NOT_BELOW_MAKE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        ready = process.stdout.readline()
        try:
            assert ready, f"{start.command}: {log.read_text(errors='replace')}"
            assert is_as_printed(start.printed or "...", ready)
            yield
        finally:
            process.terminate()
            process.wait(STOP_S)
    assert "Traceback" not in log.read_text(errors="replace")


OF_THE_HOST = ("gpg", "python3")
"""Programs that are no part of the checkout. tests/test_apt_repository.py makes a key as printed."""


def commands_of_the_checkout() -> Iterator[tuple[str, str]]:
    """Commands that start in the checkout, in blocks and in lines, and where they are printed."""
    for blocks in IN_CHECKOUT.values():
        for block in blocks:
            for command in block.commands:
                for part in re.split(r"\s*(?:&&|;)\s*", command):
                    yield str(block), part
    for document in DOCUMENTS:
        for number, code in code_in_lines(document):
            program, space, _ = code.partition(" ")
            if program == "make" or (space and (CHECKOUT / program).is_file()):
                yield f"{document}:{number}", code


@pytest.mark.parametrize(("where", "command"), sorted(set(commands_of_the_checkout())))
def test_commands_of_the_checkout_are_there(where: str, command: str) -> None:
    program, *arguments = shlex.split(re.sub(r"^([A-Z_]+=\S* )+", "", command))
    if program == "make":
        done = subprocess.run(
            [program, "-n", *arguments],
            cwd=CHECKOUT,
            env=NOT_BELOW_MAKE,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    else:
        assert os.access(CHECKOUT / program, os.X_OK) or program in OF_THE_HOST
    for argument in arguments:
        assert not argument.startswith(("tests/", "wifimgrd/")) or (CHECKOUT / argument).exists()


@pytest.mark.parametrize(
    ("where", "command"),
    sorted(
        (f"{document}:{number}", code)
        for document in DOCUMENTS
        for number, code in code_in_lines(document)
        if document != HISTORY and code.split()[0] == "wifimgrctl"
    ),
)
def test_commands_of_wifimgrctl_are_commands(where: str, command: str) -> None:
    parser().parse_args(shlex.split(command)[1:])
