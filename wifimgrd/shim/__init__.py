"""The process `wifimgrd-http`: the one place that wires the rooms of HTTP and of tiles."""
