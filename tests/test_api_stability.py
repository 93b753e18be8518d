"""The promises of the API that a release made are kept (docs/api-stability.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tools.api_surface import RELEASED, breaks, surface
from wifimgrd import __version__

_DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "api-stability.md"
_DECLARED: Final = "## Declared breaks"


def declared() -> set[str]:
    """The breaks that the document declares, each as a line of a list."""
    _, _, listed = _DOCUMENT.read_text(encoding="utf-8").partition(_DECLARED)
    return {
        line.removeprefix("- `").removesuffix("`") for line in listed.splitlines() if line.startswith("- `")
    }


@pytest.mark.parametrize("release", sorted(RELEASED.glob("*.txt")), ids=lambda file: file.stem)
def test_what_a_release_promised_holds_unless_the_break_is_declared(release: Path) -> None:
    released = release.read_text(encoding="utf-8").splitlines()
    assert released
    assert set(breaks(released, surface())) <= declared(), "declare it in docs/api-stability.md, or keep it"


def test_the_promises_of_this_version_are_recorded() -> None:
    recorded = RELEASED / f"{__version__}.txt"
    assert recorded.exists(), "tools/api_surface.py --release"


@pytest.mark.parametrize(
    ("now", "broken"),
    [
        (["a", "b", "c"], []),
        (["a", "b", "c", "d"], []),
        (["a", "c"], ["b"]),
        (["a", "b", "c", "needs http GET /a query d"], []),
        (["a", "b"], ["c"]),
    ],
)
def test_what_goes_is_a_break_and_what_comes_is_none_unless_a_client_has_to_send_it(
    now: list[str], broken: list[str]
) -> None:
    assert breaks(["a", "b", "c"], now) == broken


def test_what_is_new_may_need_what_it_likes() -> None:
    new = ["http PUT /new 200", "needs http PUT /new takes application/json x"]
    assert breaks(["http GET /old 200"], ["http GET /old 200", *new]) == []
    need = "needs http GET /old query x"
    assert breaks(["http GET /old 200"], ["http GET /old 200", need]) == [need]


def test_a_need_that_goes_breaks_nobody() -> None:
    assert breaks(["a", "needs b"], ["a"]) == []


def test_the_promises_cover_every_surface() -> None:
    kinds = {line.split(" ", 1)[0] for line in surface()}
    assert kinds == {"channel", "dbus", "http", "mqtt", "needs", "polkit"}
