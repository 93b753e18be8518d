"""The code in the documents says where it runs, and is what its language allows."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.code_blocks import COMMANDS, DOCUMENTS, PLACES, CodeBlock, code_blocks, prose
from tests.docs.terminal import is_as_printed
from wifimgrd.config import configuration as config

BLOCKS = [block for document in DOCUMENTS for block in code_blocks(document)]
TEXT = {"text", "diff", "json", "python", "toml", "xml", "yaml", "nginx", "js"}

PROGRAMS = tuple(
    f"{program} "
    for program in ("apt", "busctl", "curl", "journalctl", "make", "nmcli", "sudo", "systemctl", "wifimgrctl")
)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_block_is_indented(document: str) -> None:
    assert [
        f"{document}:{number}" for number, line in prose(document) if line.startswith((" " * 4, "\t"))
    ] == []


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_each_block_has_a_language_and_commands_a_place(block: CodeBlock) -> None:
    assert block.language in {*TEXT, *COMMANDS}
    if block.language in COMMANDS:
        assert block.where in PLACES
        assert block.commands


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "text"], ids=str)
def test_text_is_no_command_that_no_test_would_run(block: CodeBlock) -> None:
    assert not [line for line in block.text.splitlines() if line.startswith(PROGRAMS)]


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "json"], ids=str)
def test_json_is_json(block: CodeBlock) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "xml"], ids=str)
def test_xml_is_xml(block: CodeBlock) -> None:
    ElementTree.fromstring(block.text)


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "python"], ids=str)
def test_python_is_python(block: CodeBlock) -> None:
    compile(block.text.replace("test_...", "test_it"), str(block), "exec")


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "toml"], ids=str)
def test_toml_is_a_configuration_or_a_camera_model(block: CodeBlock, tmp_path: Path) -> None:
    file = tmp_path / (block.where or "wifimgrd.toml")
    file.parent.mkdir(exist_ok=True)
    file.write_text(block.text)
    if file.parent.name == "catalog.d":
        assert config.load_models(tmp_path / "wifimgrd.toml")
    else:
        assert config.load(file)


def block(text: str) -> CodeBlock:
    return CodeBlock("README.md", 1, "console", "make-run", text)


def test_a_session_is_commands_and_what_they_print() -> None:
    steps = block("$ curl -d '{\n  \"a\": 1}' \\\n    there\n{}\n\n$ x=1\n").steps
    assert [(step.command, step.printed) for step in steps] == [
        ("curl -d '{\n  \"a\": 1}' \\\n    there\n", "{}\n\n"),
        ("x=1\n", ""),
    ]


@pytest.mark.parametrize(
    ("printed", "output", "same"),
    [
        ("a  b\nc\n", "a b c", True),
        ("a b", "a c", False),
        ("a\n", "a\nb\n", False),
        ("a ... d", "a b\nc d", True),
        ("17:31:56.330  watching", "09:00:00.001 watching", True),
        ("02:00:00:00:00:01", "02:00:00:00:00:02", False),
        ("/tmp/wifimgrd-abc/bus,guid=12...", "/tmp/wifimgrd-x_1/bus,guid=34", True),
        ("Nov 22 15:33:31 hub wifimgrd[1]: up", "Dec  1 00:00:00 other.lan wifimgrd[23]: up", True),
        ("Nov 22 15:33:31 hub wifimgrd[1]: up", "Dec  1 00:00:00 other.lan wifimgrd[23]: down", False),
        ("[1] 48113", "[1] 7", True),
        ('"2026-11-20T17:07:43.804600Z"', '"2027-01-01T00:00:00Z"', True),
    ],
)
def test_white_space_and_what_varies_are_not_compared(printed: str, output: str, same: bool) -> None:
    assert is_as_printed(printed, output) is same
