"""The helper, for which the interfaces of a folder are the wireless ones: cables stand for them here."""

from __future__ import annotations

import sys
from pathlib import Path

from wifimgrd.helper import __main__ as helper
from wifimgrd.helper import _interfaces as interfaces


def main() -> None:
    """Run the helper; the folder is the first argument."""
    interfaces.INTERFACES = Path(sys.argv.pop(1))  # type: ignore[misc]
    helper.main()
