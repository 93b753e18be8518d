"""The HTTP and WebSocket shim: an unprivileged process that talks to the daemon over D-Bus alone."""
