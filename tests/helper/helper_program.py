"""The helper, for which the interfaces of a folder are the wireless ones: cables stand for them here."""

from __future__ import annotations

import sys
from pathlib import Path

from wifimgrd.helper import _interfaces as interfaces
from wifimgrd.helper.__main__ import main

interfaces._INTERFACES = Path(sys.argv.pop(1))  # type: ignore[misc]
main()
