"""Camera models as data."""

from wifimgrd.catalog.loader import CatalogError, Model, codenames, load, models

__all__ = ["CatalogError", "Model", "codenames", "load", "models"]
