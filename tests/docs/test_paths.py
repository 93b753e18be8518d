"""What a document names in the checkout is there."""

from __future__ import annotations

import re

import pytest

from tests.docs.code_blocks import CHECKOUT, DOCUMENTS, HISTORY

NAMED = re.compile(
    r"`((?:wifimgrd|tests|benchmarks|tools|packaging|systemd|dbus-policy|frontend|docs)/[\w./-]+)`"
)
MADE = {"frontend/node_modules", "tests/lab/out/"}
"""By commands."""


@pytest.mark.parametrize("document", sorted({*DOCUMENTS} - {HISTORY}))
def test_what_it_names_exists(document: str) -> None:
    named = set(NAMED.findall((CHECKOUT / document).read_text())) - MADE
    assert [one for one in sorted(named) if not (CHECKOUT / one).exists()] == []
