"""Camera models as data."""

from wifimgrd.config.catalog._loader import FOLDER, CatalogError, CatalogUnreadable, OnRetired, load, read

__all__ = ["FOLDER", "CatalogError", "CatalogUnreadable", "OnRetired", "load", "read"]
