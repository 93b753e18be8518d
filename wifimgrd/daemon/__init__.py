"""`wifimgrd`: owns the state and decides; everything else asks it, or is asked by it.

`_daemon.py` is the one place that wires the rooms below it; `parts.py` has the parts that depend on the
backend, and `ports.py` the Protocols that the manager uses. `_live_settings.py` applies a changed
configuration, `_report.py` writes the daemon's part of a fault report, and `_start_refusals.py` says how a
start that fails ends. systemd starts it.

Used by: `simulator`.
Imports: `bus`, `config`, `domain`, `proxies`, `report`, `runtime`, `wire`.
"""
