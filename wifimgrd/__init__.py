"""wifimgrd: connects Wi-Fi cameras through the USB adapters of a Linux host."""

import sys
from typing import Any, cast

__version__ = "0.1.0"

# What libraries import only where it is installed, and no process of wifimgrd uses. dbus-next imports
# GLib's bindings, 4 MB; structlog Twisted and rich, 5 MB, and on a terminal has rich print tracebacks with
# the values of local variables, passwords among them. None says that it is not there.
for _unused in ("gi", "rich", "twisted"):
    cast("dict[str, Any]", sys.modules).setdefault(_unused, None)
