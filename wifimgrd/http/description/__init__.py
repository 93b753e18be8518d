"""OpenAPI for HTTP and AsyncAPI for the channel, as files.

`tools/generate_descriptions.py` writes both from the code that serves the requests.

Used by: `http`.
Imports: `client`, `http/_operations`, `http/_routes`, `http/page`.
"""
