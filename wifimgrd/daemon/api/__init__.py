"""The D-Bus API of the hub: its names, errors, properties, and its objects, a module for each interface."""
