"""The ways in which networks are joined on real adapters: a package for each.

`networkmanager/` joins through NetworkManager and watches wpa_supplicant beside it, `wpa_supplicant/` joins
through wpa_supplicant and takes addresses from systemd-networkd; what both share is in `supplicant/`, and
`choice.py` says which one a host gets with `[backend] name = "auto"`. The simulator is the third, and
passes the same tests.

Used by: `daemon`.
Imports: `bus`, `daemon/ports`, `domain`, `kernel`, `proxies`, `runtime`, `wire`.
"""
