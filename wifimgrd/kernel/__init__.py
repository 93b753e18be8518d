"""The kernel, in its own words and in one way: netlink, nftables, sockets to cameras, Bluetooth adapters.

Interfaces, addresses, routes and rules are values that are listed, changed and reported (`links.py`,
`addresses.py`, `routes.py`, `rules.py`, `events.py`, on `rtnetlink.py`), Wi-Fi comes by nl80211, nftables
by its library. It starts no program and parses no text of one. Reading by rtnetlink needs no privilege:
https://man7.org/linux/man-pages/man7/rtnetlink.7.html.

Used by: `camera`, `daemon`, `helper`.
Imports: `domain`, `runtime`.
"""
