"""The D-Bus face of the hub: names, introspection, service and client."""
