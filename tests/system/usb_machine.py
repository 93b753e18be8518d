"""A Debian on an emulated machine with a USB controller, two hubs and devices in them, and no Wi-Fi.

One hub switches the power of each port, the other does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.system.emulated_machine import X86_64, Machine

PLAIN, SWITCHING = "1", "2"
"""The ports of the controller in which the hubs are."""


def _hardware() -> Iterator[str]:
    """The controller, the two hubs, and two network adapters in each, which run at the hub's speed."""
    yield from ("-device", "qemu-xhci,id=xhci")
    yield from ("-device", f"usb-hub,bus=xhci.0,port={PLAIN},ports=4")
    yield from ("-device", f"usb-hub,bus=xhci.0,port={SWITCHING},ports=4,port-power=on")
    for number, port in enumerate((f"{PLAIN}.1", f"{PLAIN}.2", f"{SWITCHING}.1", f"{SWITCHING}.2")):
        yield from ("-netdev", f"user,id=net{number},restrict=on")
        yield from ("-device", f"usb-net,netdev=net{number},bus=xhci.0,port={port}")


USB_MACHINE: Final = Machine(
    X86_64,
    768,
    hardware=tuple(_hardware()),
    modules=("xhci_pci", "usbmon", "cdc_ether"),
    masked=(
        *("systemd-logind", "systemd-user-sessions", "e2scrub_reap", "systemd-random-seed"),
        *("systemd-update-utmp", "systemd-sysusers", "systemd-firstboot", "systemd-pstore"),
        *("systemd-journal-flush", "polkit", "wifimgrd", "wifimgrd-net", "wifimgrd-http"),
        *("NetworkManager", "wpa_supplicant"),
    ),
)
