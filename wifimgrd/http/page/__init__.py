"""The page for people.

`frontend/` has its source (TypeScript, Preact), and `tools/set-up` builds it into `built/`; here are the
files' delivery and what a browser gets at an address that does not exist.

Used by: `http`, `http/api`, `http/description`.
Imports: `http/_errors`, `http/_operations`, `http/_routes`, `http/access`, `http/settings`.
"""
