"""The use cases, and the only writer of state.

Between the ports and the pure domain: `hub.py` wires which part hears which notices of the others,
`_connections.py` has attempts and endings, `_backend_events.py` and `_adapter_events.py` what the world
reports, `_reconciling.py` the comparison with it, `_reconnecting.py` lost devices, `_waking.py` those that
sleep, `_cameras.py` recording, and `_state.py` the state in memory. It decides by functions of the domain
and publishes each change in one place.

Used by: `daemon`, `daemon/api`.
Imports: `daemon/ports`, `domain`, `runtime`.
"""
