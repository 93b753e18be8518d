"""The page in a real browser, on what `make run` runs."""
