"""The daemon's side of `wifimgrd-net`: addresses, sockets to cameras, probes, the evidence of
dead links, power save.

It carries out the ports that need rights, by calls over the bus, and sends the plan of addresses again when
the helper restarts.

Used by: `daemon`.
Imports: `bus`, `daemon/ports`, `domain`, `kernel`, `proxies`, `runtime`, `wire`.
"""
