"""BlueZ over D-Bus: its objects as typed proxies, without any policy.

https://git.kernel.org/pub/scm/bluetooth/bluez.git/tree/doc
"""
