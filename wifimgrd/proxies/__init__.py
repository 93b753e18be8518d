"""Other services on the message bus as typed proxies, without any policy: a package for each, or a module.

Each has the names, objects and states of one service, with a TypedDict for each interface whose properties
are read. What a state means for a link or a camera is decided by those who use them.

Used by: `camera`, `daemon`, `helper`.
Imports: `bus`, `domain`.
"""
