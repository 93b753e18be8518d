"""The API's description, made of the code that serves the requests: OpenAPI for HTTP, AsyncAPI for the
channel."""
