"""What the tests hold in their hands inside the guest: cameras, USB adapters, NetworkManager, traffic."""
