"""Cameras by HTTP and WebSocket, each through its own interface.

Addresses in answers are rewritten, so that a camera's own pages work; sockets come from the daemon, which
has them opened by the helper.

Used by: `http`.
Imports: `client`, `domain`, `http/_client`, `http/_errors`, `http/_operations`, `http/_requests`,
`http/_routes`, `http/access`, `http/front`.
"""
