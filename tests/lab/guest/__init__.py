"""What the tests hold in their hands inside the lab's guest: cameras, USB adapters, NetworkManager, traffic."""
