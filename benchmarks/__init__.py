"""Measurements, both sides in one run: `make bench` prints them as one table."""
