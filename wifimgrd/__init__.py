"""wifimgrd: connects Wi-Fi cameras through the USB adapters of a Linux host."""

__version__ = "0.1.0"
