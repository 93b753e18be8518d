"""The API's description: OpenAPI for HTTP, AsyncAPI for the channel. `tools/generate_descriptions.py` makes
both of the code that serves the requests."""
