"""The use cases, and the only writer of devices and links.

Between the ports and the pure domain: `hub.py` connects each part's notices to their listeners,
`_connections.py` has attempts and endings, `_backend_events.py` and `_adapter_events.py` what the world
reports, `_reconciling.py` the comparison with it, `_reconnecting.py` tries lost and waiting devices in the
order that the domain decides, `_waking.py` wakes cameras within such a try, `_bonds.py` makes and removes
bonds, `_cameras.py` has recording, and `_state.py` the state in memory. It decides by functions of the
domain and publishes each change in one place.

Used by: `daemon`, `daemon/api`.
Imports: `daemon/ports`, `domain`, `runtime`.
"""
