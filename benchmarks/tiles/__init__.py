"""Tiles, against nginx and tileserver-gl-light, on this host."""
