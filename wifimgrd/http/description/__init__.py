"""The API's description, made of what serves the requests: OpenAPI for HTTP, AsyncAPI for the channel."""
