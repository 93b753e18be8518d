"""`wifimgrd-net`: the one process with rights over the network.

It changes routes, nftables and wireless interfaces, adds networks to wpa_supplicant and profiles to
NetworkManager, writes files for systemd-networkd, and opens sockets to cameras (docs/addresses.md,
docs/recovery.md). Each call is checked against what the hub may have at all (`_policy.py`) before anything
is done. The daemon calls it over the bus; only the user `wifimgrd` may.

Used by: no other room.
Imports: `bus`, `config`, `domain`, `kernel`, `proxies`, `runtime`, `wire`.
"""
