"""wpa_supplicant over D-Bus: its interfaces, their scans, and what its states and codes mean.

Both backends with real adapters use it; the wpa_supplicant backend itself is in
`daemon/backends/wpa_supplicant`.

https://w1.fi/wpa_supplicant/devel/dbus.html
"""
