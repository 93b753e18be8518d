"""The process that speaks with cameras over Bluetooth LE, and parses what they send; it has no rights."""
