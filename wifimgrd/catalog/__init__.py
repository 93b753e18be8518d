"""Camera models as data."""

from wifimgrd.catalog.loader import FOLDER, CatalogError, Models, load, read

__all__ = ["FOLDER", "CatalogError", "Models", "load", "read"]
