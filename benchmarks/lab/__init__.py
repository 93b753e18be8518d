"""Real 802.11: NetworkManager, wpa_supplicant and cameras in a guest."""
