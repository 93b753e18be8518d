"""NetworkManager over D-Bus: its objects as typed proxies, without any policy.

https://networkmanager.dev/docs/api/1.42/spec.html
"""
