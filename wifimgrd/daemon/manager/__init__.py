"""The use cases: the only writer of state, between the ports and the pure domain."""
