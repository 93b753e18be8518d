"""systemd-networkd over D-Bus: its objects as typed proxies, without any policy.

https://www.freedesktop.org/software/systemd/man/252/org.freedesktop.network1.html
"""
