"""USB Wi-Fi adapters: hwsim radios that udev shows as USB devices (image/guest_usb_disguise.rules)."""

from dataclasses import dataclass
from pathlib import Path

from . import hwsim
from .deadline import poll_until


@dataclass(frozen=True)
class Adapter:
    """An adapter that is plugged in, or was; its identity (port, address, serial) survives a replug."""

    port: str  # the USB port below bus 1, such as "1.4"
    permanent_address: str
    interface: str  # its name when it was plugged in: wlan0, ...
    channels: hwsim.Channels

    @property
    def sysfs(self) -> str:
        """Give its interface's folder."""
        return f"/sys/class/net/{self.interface}"

    @property
    def id_path(self) -> str:
        """udev's ID_PATH."""
        return f"platform-lab-usb-0:{self.port}:1.0"

    @property
    def id_serial(self) -> str:
        """udev's ID_SERIAL."""
        return f"Realtek_802.11ac_NIC_{self.permanent_address}"

    @property
    def plugged_in(self) -> bool:
        """Whether its radio exists."""
        return self.port in hwsim.radios()

    def unplug(self) -> None:
        """Pull it out: the interface is gone at once, as with a real one."""
        hwsim.remove_radio(self.port)


def plug_in(port: str, channels: hwsim.Channels = "short", permanent_address: str | None = None) -> Adapter:
    """Plug an adapter into a USB port; its address follows from the port, unless it is given."""
    address = permanent_address or address_of_port(port)
    hwsim.add_radio(port, address, channels)
    interface = poll_until(lambda: _interface_of(port), f"an interface of the adapter in port {port}", 5)
    return Adapter(port, address, interface, channels)


def address_of_port(port: str) -> str:
    """Make the permanent address of the adapter that lives in this port: "1.4" -> 02:00:5e:00:01:04."""
    numbers = [int(number) for number in port.split(".")]
    return ":".join(f"{byte:02x}" for byte in [0x02, 0x00, 0x5E, *([0] * (3 - len(numbers))), *numbers])


def _interface_of(phy: str) -> str:
    folder = Path(hwsim.PHYS, phy, "device/net")
    return next((entry.name for entry in sorted(folder.iterdir())), "") if folder.is_dir() else ""
