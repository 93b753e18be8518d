"""The daemon's side of `wifimgrd-camera`: sleeping cameras, and connected ones.

It carries out `CameraBluetooth` of the ports and `CameraControl` of the domain by calls over the bus, and
starts the calls again when that process does.

Used by: `daemon`.
Imports: `bus`, `daemon/ports`, `domain`, `kernel`, `proxies`, `runtime`, `wire`.
"""
