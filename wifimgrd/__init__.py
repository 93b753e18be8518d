"""wifimgrd: connects Wi-Fi cameras through the USB adapters of a Linux host."""

import sys
from typing import Any, cast

__version__ = "0.3.0"

# Modules that libraries import only if they are installed, and that no process of wifimgrd uses. dbus-next
# imports GLib's bindings, 4 MB; structlog imports greenlet, 1.6 MB, Twisted and rich, 5 MB, and on a terminal
# lets rich or better_exceptions print tracebacks with the values of local variables, passwords among them.
# None says that the module is not there; greenlet is hidden only from structlog.
for _unused in ("better_exceptions", "gi", "rich", "structlog._greenlets", "twisted"):
    cast("dict[str, Any]", sys.modules).setdefault(_unused, None)
