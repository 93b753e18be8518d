"""The guest's own services, as another host has them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .namespace import run

NETWORK_MANAGER = "NetworkManager.service"
SUPPLICANT = "wpa_supplicant.service"
_NETWORKD = ("systemd-networkd.service", "systemd-networkd.socket")


@contextmanager
def without_networkmanager() -> Iterator[None]:
    """NetworkManager is masked, and neither wpa_supplicant nor networkd runs; as before after it."""
    run("systemctl", "mask", "--runtime", "--now", NETWORK_MANAGER)
    run("systemctl", "stop", SUPPLICANT)
    try:
        yield
    finally:
        run("systemctl", "stop", SUPPLICANT)
        stop_networkd()
        run("systemctl", "unmask", "--runtime", NETWORK_MANAGER)
        run("systemctl", "start", NETWORK_MANAGER)


def stop_networkd() -> None:
    """Networkd does not run, and no file of the product's is left for it."""
    run("systemctl", "stop", *_NETWORKD)
    for file in files_for_networkd():
        file.unlink()


def files_for_networkd() -> list[Path]:
    """The product's files for networkd."""
    return list(Path("/run/systemd").glob("network*/*-wifimgrd*"))
