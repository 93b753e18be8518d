"""The typed client that the HTTP shim, the MQTT bridge and the command line share."""
