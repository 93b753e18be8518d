"""Who may use HTTP: hosts, origins, tokens, TLS.

Each is a check before a resource: the `Host` and the site that a request comes from, the token or its
cookie, and a start on open addresses without one, which is refused.

Used by: `http`, `http/api`, `http/channel`, `http/front`, `http/page`, `http/platform`, `http/relay`,
`http/tiles`.
Imports: `client`, `config`, `domain`, `http/_errors`, `http/_operations`, `http/_requests`, `http/_routes`.
"""
