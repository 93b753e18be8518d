"""The rules of the hub as plain values: no I/O, no clock, no asyncio, no logging."""
