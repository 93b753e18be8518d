"""`wifimgrd-net`: the one process with rights over the network.

It changes routes, nftables and wireless interfaces, adds networks to wpa_supplicant and profiles to
NetworkManager, writes files for systemd-networkd, and opens sockets to cameras (docs/addresses.md,
docs/failures.md). It runs as the user `wifimgrd-net` with one capability, CAP_NET_ADMIN. The daemon calls
it over the bus: `wire/private_service.py` checks the caller, `_call_arguments.py` and `_interfaces.py` each
argument; `_policy.py` has what the configuration lets cameras reach.

Used by: no other room.
Imports: `bus`, `config`, `domain`, `kernel`, `proxies`, `runtime`, `wire`.
"""
