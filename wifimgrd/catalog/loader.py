"""Reads the camera models, and refuses a file that is not exactly as it should be."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

SHIPPED: Final = Path(__file__).with_name("models.toml")
_CODENAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_KEYS: Final = ("codename", "device_name")


class CatalogError(ValueError):
    """A model file that cannot be used: the file, the key and what was expected."""

    def __init__(self, file: Path, key: str, expected: str) -> None:
        super().__init__(f"{file}: {key}: {expected}")


@dataclass(frozen=True, slots=True)
class Model:
    """A camera model that a client can offer."""

    codename: str
    device_name: str


@cache
def models() -> tuple[Model, ...]:
    """The models that are shipped, in the order of the file."""
    return load(SHIPPED)


@cache
def codenames() -> frozenset[str]:
    """The codenames of the models that are shipped."""
    return frozenset(model.codename for model in models())


def load(file: Path) -> tuple[Model, ...]:
    """Read a model file; raises CatalogError."""
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CatalogError(file, "the file", f"cannot be read: {error}") from None
    for key in document:
        if key != "model":
            raise CatalogError(file, key, "unknown; expected [[model]] tables alone")
    tables = document.get("model", [])
    if not isinstance(tables, list):
        raise CatalogError(file, "model", "expected [[model]] tables")
    seen: set[str] = set()
    result = []
    for number, table in enumerate(tables, start=1):
        model = _model(file, f"model {number}", table)
        if model.codename in seen:
            raise CatalogError(file, f"model {number}.codename", f'"{model.codename}" stands there twice')
        seen.add(model.codename)
        result.append(model)
    return tuple(result)


def _model(file: Path, place: str, table: Any) -> Model:
    if not isinstance(table, dict):
        raise CatalogError(file, place, "expected a table")
    for key in table:
        if key not in _KEYS:
            raise CatalogError(file, f"{place}.{key}", f"unknown; expected {' and '.join(_KEYS)}")
    for key in _KEYS:
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise CatalogError(file, f"{place}.{key}", "expected a text that is not empty")
    if not _CODENAME.fullmatch(table["codename"]):
        raise CatalogError(file, f"{place}.codename", "expected lower case words joined by dashes")
    return Model(table["codename"], table["device_name"])
