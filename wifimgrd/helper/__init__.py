"""The privileged helper: routes, nftables and wireless settings, which give each camera its own address."""
