"""Camera models as data."""
