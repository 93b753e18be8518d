"""No document asks for more rights at a broker than docs/fleet.md prints."""

from __future__ import annotations

import re

import pytest

from tests.docs.code_blocks import CHECKOUT, DOCUMENTS

EVERYTHING = re.compile(r"\bread\s+`(PREFIX|wifimgrd)/#`")
"""In it are commands, and in those the passwords of cameras."""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_nobody_is_to_read_everything(document: str) -> None:
    assert not EVERYTHING.search((CHECKOUT / document).read_text())


@pytest.mark.parametrize("document", ["docs/mqtt.md", "docs/http.md"])
def test_the_rights_of_people_are_in_one_place(document: str) -> None:
    text = " ".join((CHECKOUT / document).read_text().split())
    assert "the rights of `viewer`, or for commands of `dispatcher`, in [Many hubs](fleet.md#" in text
