"""The simulated world: our programs as they are, on a message bus of their own."""
