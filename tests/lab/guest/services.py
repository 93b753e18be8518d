"""The guest's own services, as another host has them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .namespace import CommandError, run

NETWORK_MANAGER = "NetworkManager.service"
SUPPLICANT = "wpa_supplicant.service"
_NETWORKD = ("systemd-networkd.service", "systemd-networkd.socket")
_MASK = Path("/run/systemd/system", NETWORK_MANAGER)


def start_networkmanager() -> None:
    """NetworkManager runs, also where it was masked."""
    if _MASK.is_symlink():
        run("systemctl", "unmask", "--runtime", NETWORK_MANAGER)
    try:
        run("systemctl", "start", NETWORK_MANAGER)
    except CommandError:  # killed more often than systemd starts it again
        run("systemctl", "reset-failed", NETWORK_MANAGER)
        run("systemctl", "start", NETWORK_MANAGER)


def mask_networkmanager() -> None:
    """NetworkManager is masked, and wpa_supplicant does not run; nothing is done if it is masked already."""
    if not _MASK.is_symlink():
        run("systemctl", "mask", "--runtime", "--now", NETWORK_MANAGER)
        run("systemctl", "stop", SUPPLICANT)


def stop_others() -> None:
    """Neither wpa_supplicant nor networkd runs."""
    run("systemctl", "stop", SUPPLICANT)
    stop_networkd()


@contextmanager
def without_networkmanager() -> Iterator[None]:
    """NetworkManager is masked, and neither wpa_supplicant nor networkd runs; as before after it."""
    mask_networkmanager()
    try:
        yield
    finally:
        stop_others()
        start_networkmanager()


def stop_networkd() -> None:
    """Networkd does not run, and no file of the product's is left for it."""
    run("systemctl", "stop", *_NETWORKD)
    for file in files_for_networkd():
        file.unlink()


def files_for_networkd() -> list[Path]:
    """The product's files for networkd."""
    return list(Path("/run/systemd").glob("network*/*-wifimgrd*"))


@contextmanager
def drop_in(unit: str, *settings: str) -> Iterator[None]:
    """A unit's service has these settings, too, from its next start on."""
    folder = Path("/run/systemd/system", f"{unit}.d")
    folder.mkdir(parents=True)
    (folder / "lab.conf").write_text("\n".join(("[Service]", *settings, "")))
    run("systemctl", "daemon-reload")
    try:
        yield
    finally:
        shutil.rmtree(folder)
        run("systemctl", "daemon-reload")
