"""Who may use HTTP: hosts, origins, tokens.

Before a resource the host, the site that a request comes from, and the token or its cookie are checked.
`throttle.py` limits attempts, and `exposure.py` refuses a start on an address that other hosts reach without
a token.

Used by: `http`, `http/api`, `http/channel`, `http/front`, `http/page`, `http/platform`, `http/relay`,
`http/tiles`.
Imports: `config`, `domain`, `http/_errors`, `http/_operations`, `http/_requests`, `http/_routes`.
"""
