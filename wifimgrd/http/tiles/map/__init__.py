"""The map of the platform's frontend: a style, its fonts and sprites, and whole PMTiles archives by Range."""
