"""The D-Bus API of the hub: names, introspection, service and client."""
