"""Camera models as data."""

from wifimgrd.catalog._loader import FOLDER, CatalogError, load, read

__all__ = ["FOLDER", "CatalogError", "load", "read"]
