"""Packaging entry point; all metadata stands in setup.cfg."""

from setuptools import setup

setup()
