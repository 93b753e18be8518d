"""The Debian packages of the checkout in the place of what pip installed, and back."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .namespace import run

PACKAGES = Path("/host/tests/lab/out/packages")
FIRST_PACKAGES = PACKAGES.with_name("first-packages")
LAST_PACKAGES = PACKAGES.with_name("last-packages")
"""Of the first and of the last release."""
_BY_PIP = ("/usr/local/bin/wifimgr*", "/usr/local/lib/python3*/dist-packages/wifimgrd*")
_BY_HAND = (
    *(
        "/etc/systemd/system/wifimgrd*",
        "/etc/systemd/system/wpa_supplicant.service.d",
        "/etc/systemd/network/*wifimgrd*",
        "/etc/dbus-1/system.d/org.wifimgrd1*",
    ),
    *("/usr/share/dbus-1/*/org.wifimgrd1*", "/usr/share/polkit-1/*/org.wifimgrd1*", "/etc/wifimgrd"),
)


@contextmanager
def packaged(packages: Path = PACKAGES) -> Iterator[None]:
    """Have packages installed, and what their installation has started stopped."""
    # Also what the daemon has started, which would outlive its unit.
    run("bash", "-c", "systemctl stop wifimgrd wifimgrd-http wifimgrd-camera || true")
    run("systemctl", "reset-failed", "wifimgrd*")
    for pattern in (*_BY_PIP, *_BY_HAND):
        run("bash", "-c", f"rm -rf {pattern}")
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    try:
        install(packages)
        run("systemctl", "stop", "wifimgrd.service", "wifimgrd-http.service")
        yield
    finally:
        run("dpkg", "--purge", "wifimgrd-http", "wifimgrd")
        shutil.rmtree("/var/lib/wifimgrd", ignore_errors=True)
        run("bash", "-c", "cd /host && tests/lab/guest/install_checkout.sh")


def install(packages: Path) -> None:
    """Install daemon and shim, or other versions of them; the configuration stays."""
    files = f"{packages}/wifimgrd_*.deb {packages}/wifimgrd-http_*.deb"
    run("bash", "-c", f"dpkg --force-confold --install {files}")
