"""The dialect of the platform's frontend: the order of an answer and its events, and its forms.

It can be taken away the day that the frontend no longer needs it.

Used by: `http`, `http/api`.
Imports: `client`, `domain`, `http/_errors`, `http/_operations`, `http/_routes`, `http/access`,
`http/channel`.
"""
