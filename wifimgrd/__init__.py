"""wifimgrd: connects Wi-Fi cameras through the USB adapters of a Linux host."""

import sys
from typing import Any, cast

__version__ = "0.1.0"

# Where rich is installed structlog imports it, 5 MB, and on a terminal has it print tracebacks with the
# values of local variables, passwords among them. None says that it is not there.
cast("dict[str, Any]", sys.modules).setdefault("rich", None)
