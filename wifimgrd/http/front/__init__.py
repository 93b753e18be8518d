"""Stands before aiohttp: counts connections, and bounds what comes in, in size, number, time and rate."""
