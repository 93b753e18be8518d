"""The layer for rpi-image-gen: its form, and what becomes of it on arm64."""
