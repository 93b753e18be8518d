"""One connection to a message bus (D-Bus), and the one module that uses the D-Bus library."""
