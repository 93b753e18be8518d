"""`wifimgrctl`, the command-line client."""
