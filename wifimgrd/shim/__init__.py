"""The process `wifimgrd-http`: the one place that wires the rooms of HTTP and of tiles."""

import os

_chosen = os.environ.get("SSL_CERT_FILE")
# The server of aiohttp imports its client, which reads the host's CA certificates (1.9 MB, 40 ms). No request
# here is made by it: what verifies a server (`http/client.py`) reads them itself.
os.environ["SSL_CERT_FILE"] = os.devnull
try:
    import aiohttp  # noqa: F401
finally:
    if _chosen is None:
        del os.environ["SSL_CERT_FILE"]
    else:
        os.environ["SSL_CERT_FILE"] = _chosen
