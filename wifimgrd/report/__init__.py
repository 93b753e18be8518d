"""Fault reports, without data that strangers must not see.

Names, addresses and networks become aliases that stay the same throughout a report; `sections.py` has the
parts that `wifimgrctl diagnose` and the daemon share.

Used by: `cli`, `daemon`.
Imports: `client`, `domain`.
"""
