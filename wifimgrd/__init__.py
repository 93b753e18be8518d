"""wifimgrd: connects Wi-Fi cameras through the USB adapters of a Linux host."""

import sys
from typing import Any, cast

__version__ = "0.2.0"

# What libraries import only where it is installed, and no process of wifimgrd uses. dbus-next imports
# GLib's bindings, 4 MB; structlog greenlet, 1.6 MB, Twisted and rich, 5 MB, and on a terminal has rich or
# better_exceptions print tracebacks with the values of local variables, passwords among them. None says that
# it is not there; of greenlet, to structlog alone.
for _unused in ("better_exceptions", "gi", "rich", "structlog._greenlets", "twisted"):
    cast("dict[str, Any]", sys.modules).setdefault(_unused, None)
