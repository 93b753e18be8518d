"""The lab: the suite that runs in a guest with real 802.11 stations and access points (README.md)."""
