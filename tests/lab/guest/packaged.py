"""The Debian packages of the checkout in the place of what pip installed, and back."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .namespace import run

PACKAGES = Path("/host/tests/lab/out/packages")
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
def packaged() -> Iterator[None]:
    """Have the packages installed, and what their installation has started stopped."""
    # Also what the daemon has started, which would outlive its unit.
    run("bash", "-c", "systemctl stop wifimgrd wifimgrd-http wifimgrd-camera || true")
    run("systemctl", "reset-failed", "wifimgrd*")
    for pattern in (*_BY_PIP, *_BY_HAND):
        run("bash", "-c", f"rm -rf {pattern}")
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    try:
        run("bash", "-c", f"dpkg --install {PACKAGES}/wifimgrd_*.deb {PACKAGES}/wifimgrd-http_*.deb")
        run("systemctl", "stop", "wifimgrd.service", "wifimgrd-http.service")
        yield
    finally:
        run("dpkg", "--purge", "wifimgrd-http", "wifimgrd")
        shutil.rmtree("/var/lib/wifimgrd", ignore_errors=True)
        run("bash", "-c", "cd /host && tests/lab/guest/install_checkout.sh")


def upgrade() -> None:
    """Install the same packages under a higher version."""
    folder = Path("/tmp/newer-packages")
    folder.mkdir(exist_ok=True)
    for package in PACKAGES.glob("*.deb"):
        name, version, _ = package.name.split("_")
        tree = folder / name
        shutil.rmtree(tree, ignore_errors=True)
        run("dpkg-deb", "--raw-extract", str(package), str(tree))
        control = tree / "DEBIAN" / "control"
        text = control.read_text().replace(f"Version: {version}\n", f"Version: {version}+test\n")
        control.write_text(text.replace(f"(= {version})", f"(= {version}+test)"))
        run("dpkg-deb", "--root-owner-group", "--build", str(tree), f"{tree}.deb")
    run("dpkg", "--install", f"{folder}/wifimgrd.deb", f"{folder}/wifimgrd-http.deb")
