"""Reads the camera models; an invalid file is an error.

Each file holds `[[model]]` tables, and may hold `[defaults]` for all of its models. Those of a
folder of the host's own come after the shipped ones: a new codename is a new model; for a known
codename, the keys that are set win and the others stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final

from wifimgrd.domain.camera_model import CameraModel
from wifimgrd.toml_tables import build, parse

SHIPPED: Final = Path(__file__).parent
FOLDER: Final = "catalog.d"
"""The folder of the host's own models, beside the configuration file."""
_DEFAULTS: Final = frozenset(one.name for one in fields(CameraModel)) - {"codename", "device_name"}

Models = Mapping[str, CameraModel]
"""By codename, in the order in which they are offered."""


class CatalogError(ValueError):
    """A model file cannot be used; the text names the file, the key and the valid values."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A model, and the keys that are set in its file."""

    table: Mapping[str, Any]
    model: CameraModel


def load(folder: Path | None = None) -> Models:
    """The shipped models, and those of `folder` if it exists; raises CatalogError."""
    own = [] if folder is None else sorted(folder.glob("*.toml"))
    return read([*sorted(SHIPPED.glob("*.toml")), *own]) if own else _shipped()


@cache
def _shipped() -> Models:
    return read(sorted(SHIPPED.glob("*.toml")))


def read(files: Iterable[Path]) -> Models:
    """The models of some files, later ones over earlier ones; raises CatalogError."""
    known: dict[str, _Known] = {}
    for file in files:
        try:
            known |= _read(parse(file), known)
        except ValueError as error:
            raise CatalogError(f"{file}: {error}") from None
    return {codename: one.model for codename, one in known.items()}


def _read(document: Mapping[str, Any], before: Mapping[str, _Known]) -> dict[str, _Known]:
    for key in document:
        if key not in ("defaults", "model"):
            raise ValueError(f"{key}: unknown key; expected [defaults] and [[model]]")
    defaults, tables = document.get("defaults", {}), document.get("model", [])
    if not isinstance(defaults, dict):
        raise ValueError("defaults: expected a table")  # noqa: TRY004 - one kind for all that is wrong
    for key in defaults:
        if key not in _DEFAULTS:
            expected = f"expected one of {', '.join(sorted(_DEFAULTS))}"
            raise ValueError(f"defaults.{key}: unknown key; {expected}")
    if not isinstance(tables, list):
        raise ValueError("model: expected [[model]] tables")  # noqa: TRY004 - one kind for all that is wrong
    found: dict[str, _Known] = {}
    for number, table in enumerate(tables, start=1):
        where = f"model {number}"
        if not isinstance(table, dict):
            raise ValueError(f"{where}: expected a table")  # noqa: TRY004 - as above
        codename = table.get("codename")
        earlier = before.get(codename) if isinstance(codename, str) else None
        merged = {**(earlier.table if earlier else {}), **defaults, **table}
        model = build(CameraModel, merged, where)
        if model.codename in found:
            raise ValueError(f'{where}.codename: "{model.codename}" stands there twice')
        found[model.codename] = _Known(merged, model)
    return found
