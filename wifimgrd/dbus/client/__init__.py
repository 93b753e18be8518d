"""The typed client that the HTTP shim and the command line share."""
