"""Whether this is `make soak`: other random cases each time; the suite has the same ones."""

from __future__ import annotations

import os
from typing import Final

IS_SOAK: Final = any(name in os.environ for name in ("WIFIMGRD_SOAK", "WIFIMGRD_FUZZ", "WIFIMGRD_CRASHES"))
