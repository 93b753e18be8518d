"""How schemathesis makes texts that JSON Schema alone cannot describe."""

from __future__ import annotations

from itertools import count

import schemathesis
from hypothesis import strategies as st

_LETTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))

# An SSID has 32 octets at most, whatever number of characters that is.
schemathesis.openapi.format("ssid", st.text(_LETTERS, min_size=1, max_size=8))
# What people call a thing has something in it that can be seen, and no two devices have one name.
_NUMBERS = count(1)
schemathesis.openapi.format(
    "label", st.text(_LETTERS, max_size=90).map(lambda text: f"{text}{next(_NUMBERS)}")
)
