"""Devices and secrets on disk."""
