"""The daemon's side of `wifimgrd-camera`: sleeping cameras, and connected ones.

It carries out `CameraBluetooth` of the ports and `CameraControl` of the domain by calls over the bus, and
attaches the cameras again if that process has ended.

Used by: `daemon`.
Imports: `bus`, `daemon/ports`, `domain`, `kernel`, `proxies`, `runtime`, `wire`.
"""
