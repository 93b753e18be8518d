"""The HTTP and WebSocket shim: an unprivileged process that uses the daemon over D-Bus alone."""
