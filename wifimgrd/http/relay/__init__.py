"""The relay: cameras by HTTP and WebSocket, each through its own interface."""
