"""Camera models as data."""

from wifimgrd.catalog._loader import FOLDER, CatalogError, Models, load, read

__all__ = ["FOLDER", "CatalogError", "Models", "load", "read"]
