"""Strict reading of TOML: an error has the line of the key, or of the table around it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.config.toml_tables import Document, TomlError
from wifimgrd.domain.checks import within
from wifimgrd.domain.device import Passphrase


@dataclass(frozen=True, slots=True)
class Inner:
    """A table in a table."""

    needed: int
    few: Annotated[int | None, within(0, 3)] = None


@dataclass(frozen=True, slots=True)
class Table:
    """All kinds of values."""

    a: int = 0
    text: str = ""
    texts: tuple[str, ...] = ()
    secret: Passphrase | None = None
    inner: Inner | None = None
    inners: tuple[Inner, ...] = ()


TWO = "[[inners]]\nneeded = 1\n\n# a comment\n[[inners]]\n"


def problem(text: str) -> str:
    """What is said of a text."""
    with pytest.raises(TomlError) as error:
        Document.parsed("file", text).build(Table)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("b = 1", "file: b: unknown key; expected one of a, inner, inners, secret, text, texts (at line 1)"),
        ("\n\na = true\n", "file: a: expected a whole number, not true (at line 3)"),
        ("a = 1\r\n\r\ntext = 2\r\n", "file: text: expected a text, not 2 (at line 3)"),
        ('text = """\na = "x"\n"""\na = "x"', "file: a: expected a whole number, not 'x' (at line 4)"),
        ('texts = [\n  "x",\n  # two\n  2,\n]\n', "file: texts[1]: expected a text, not 2 (at line 1)"),
        (
            'a = 1\n"b.c" = 1\n',
            "file: b.c: unknown key; expected one of a, inner, inners, secret, text, texts (at line 2)",
        ),
        ("a = 1\ninner = { few = 1 }", "file: inner: expected the key needed (at line 2)"),
        ("a = 1\ninner.needed = 1\ninner.few = 4", "file: inner.few: expected 0 to 3, not 4 (at line 3)"),
        (TWO + "few = 1", "file: inners[1]: expected the key needed (at line 5)"),
        (TWO + "needed = 1\nfew = 4\n", "file: inners[1].few: expected 0 to 3, not 4 (at line 7)"),
        (TWO + "needed = []", "file: inners[1].needed: expected a whole number, not a list (at line 6)"),
    ],
)
def test_an_error_has_key_expectation_and_line(text: str, said: str) -> None:
    assert problem(text) == said


def test_what_is_not_toml_has_a_line_too(tmp_path: Path) -> None:
    assert problem("a = 1\n= 2").startswith("file: is not TOML: ")
    assert problem("a = 1\n= 2").endswith("(at line 2, column 1)")
    with pytest.raises(TomlError, match=r"none\.toml: cannot be read: No such file"):
        Document.read(tmp_path / "none.toml")


def test_a_password_of_a_wrong_type_is_not_quoted() -> None:
    assert problem("secret = 12345678") == "file: secret: expected a text (at line 1)"


STATEMENTS = st.permutations(['text = """\n\na = []"""', "texts = [\n\n]", "inner = { needed = 1 }"])
NOTHING = st.lists(st.sampled_from(["", "# a = []"]), max_size=9)


@given(STATEMENTS, NOTHING, st.integers(0, 3), NOTHING)
def test_the_line_is_that_of_the_key_whatever_is_around_it(
    statements: list[str], before: list[str], position: int, after: list[str]
) -> None:
    first = [*before, *statements[:position], *before]
    text = "\n".join([*first, "a = []", *after, *statements[position:]])
    line = "\n".join([*first, "a"]).count("\n") + 1
    assert problem(text) == f"file: a: expected a whole number, not a list (at line {line})"
