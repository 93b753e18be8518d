"""The daemon's client of the privileged helper: addresses, camera sockets, liveness probes, power save."""
