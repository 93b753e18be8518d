"""The manual pages and the shells' completions know all there is, and nothing else."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints
from xml.etree import ElementTree

import pytest

from wifimgrd.cli._arguments import parser
from wifimgrd.config.configuration import Config
from wifimgrd.domain.camera_model import CameraModel
from wifimgrd.domain.camera_state import RECORDING, CameraState

PACKAGING = Path(__file__).parents[1] / "packaging"
INTROSPECTION = Path(__file__).parents[1] / "wifimgrd" / "wire" / "introspection"


@pytest.fixture(scope="module")
def manuals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, PACKAGING / "make_manuals", folder], check=True)
    return {
        page.name: re.sub(r"\\f[BIR]", "", page.read_text()).replace("\\-", "-") for page in folder.iterdir()
    }


def words_of(grammar: argparse.ArgumentParser) -> Iterator[str]:
    """Every command and long option that the help shows."""
    for action in grammar._actions:
        yield from (option for option in action.option_strings if option.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):
            shown = {choice.dest for choice in action._choices_actions}
            for name in shown:
                yield name
                yield from words_of(action.choices[name])


def keys_of(table: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Each table's name and one of its keys that has a value."""
    hints = get_type_hints(table)
    for one in fields(table):
        inner = next(
            (hint for hint in (hints[one.name], *get_args(hints[one.name])) if is_dataclass(hint)), None
        )
        if inner is None:
            yield name, one.name
        else:
            yield from keys_of(inner, f"{name}.{one.name}".lstrip("."))


def keys_explained(page: str) -> set[tuple[str, str]]:
    """The same of a manual page: each entry is of a table and a key, or of an array and all its keys."""
    explained = set()
    for entry in page.split("\n.TP\n"):
        if found := re.match(r"(\[\[?)([\w.]+)\]\]?(.*)", entry):
            is_array, table, keys = found[1] == "[[", found[2], found[3]
            explained |= {(table, key) for key in re.findall(r"\w+", entry if is_array else keys)}
    return explained


def keys_shown(file: str) -> set[tuple[str, str]]:
    """The same of an example, also those that are commented out."""
    table, shown = "", set()
    for line in file.splitlines():
        if found := re.match(r"(?:# )?\[+([\w.]+)\]", line):
            table = found[1]
        shown |= {(table, key) for key in re.findall(r"(?:^|# |: )(\w+) = ", line)}
    return shown


def test_each_program_and_file_has_its_page(manuals: dict[str, str]) -> None:
    assert sorted(manuals) == [
        *(
            "org.wifimgrd1.5",
            "wifimgrctl.1",
            "wifimgrd-camera.8",
            "wifimgrd-http.8",
            "wifimgrd-mavlink.8",
            "wifimgrd-mqtt.8",
            "wifimgrd-net.8",
            "wifimgrd.8",
            "wifimgrd.catalog.5",
            "wifimgrd.toml.5",
        )
    ]


def test_the_commands_page_has_every_command_and_option(manuals: dict[str, str]) -> None:
    missing = {word for word in words_of(parser()) if word not in manuals["wifimgrctl.1"]} - {"--help"}
    assert not missing


def test_the_commands_page_has_every_state_that_is_shown(manuals: dict[str, str]) -> None:
    _, _, states = manuals["wifimgrctl.1"].partition(".SH STATES\n")
    shown = re.findall(r"^\.TP\n(.+)\n.+$", states.partition(".SH ")[0], re.MULTILINE)
    assert sorted(shown) == sorted([*(state.label for state in CameraState), f"{RECORDING} 12:03"])


def test_the_completions_have_every_command_and_option(tmp_path: Path) -> None:
    subprocess.run([sys.executable, PACKAGING / "make_completions", tmp_path], check=True)
    for file in ("wifimgrctl.bash", "_wifimgrctl"):
        said = set(re.findall(r"(?<![\w-])(?:--)?[a-z][a-z-]*", (tmp_path / file).read_text()))
        assert not set(words_of(parser())) - said


def test_the_configurations_page_has_every_key(manuals: dict[str, str]) -> None:
    assert not set(keys_of(Config)) - keys_explained(manuals["wifimgrd.toml.5"])


def test_the_models_page_has_every_key(manuals: dict[str, str]) -> None:
    page = manuals["wifimgrd.catalog.5"]
    assert not [key for _, key in keys_of(CameraModel) if not re.search(rf"\b{key}\b", page)]


def test_the_interfaces_page_has_every_member_and_why(manuals: dict[str, str]) -> None:
    page = manuals["org.wifimgrd1.5"]
    for name in ("Manager", "Device", "Power", "Bluetooth", "Camera", "Interface"):
        for member in ElementTree.parse(INTROSPECTION / f"org.wifimgrd1.{name}.xml").iter():
            if member.tag in ("method", "signal", "property"):
                assert re.search(rf"^\.SS (signal )?{member.get('name')}\b.*\n[^.]", page, re.MULTILINE)


def test_the_examples_of_the_configuration_file_have_every_key() -> None:
    assert set(keys_of(Config)) == keys_shown((PACKAGING / "wifimgrd.toml").read_text())
