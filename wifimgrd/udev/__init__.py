"""The adapters of this host, from udev."""
