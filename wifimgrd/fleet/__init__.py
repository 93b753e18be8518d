"""A client of all hubs at an MQTT broker."""
