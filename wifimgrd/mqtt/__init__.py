"""The MQTT bridge: publishes the hub's state to a broker, and carries out commands from there."""
