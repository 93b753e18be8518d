"""The daemon's side of `wifimgrd-camera`."""
