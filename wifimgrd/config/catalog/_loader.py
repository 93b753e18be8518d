"""Reads the camera models; an invalid file is an error.

Each file holds `[[model]]` tables, and may hold `[defaults]` for all of its models. Those of a
folder of the host's own come after the shipped ones: a new codename is a new model; for a known
codename, the keys that are set win and the others stay. Two codenames that mean the same when they are looked
up are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final

from wifimgrd.config.toml_tables import Document, TomlError, TomlUnreadable, build
from wifimgrd.domain.camera_model import CameraModel, CameraModels, codename_key
from wifimgrd.domain.checks import Invalid, expect

SHIPPED: Final = Path(__file__).parent
FOLDER: Final = "catalog.d"
"""The folder of the host's own models, beside the configuration file."""
_RETIRED: Final = (("bluetooth", "awake_for_s"),)
"""Keys that an earlier version had, without an effect: files that have them are valid."""
OnRetired = Callable[[Path, str], None]
"""Is called with a file and a retired key in it, once for each."""
_DEFAULTS: Final = frozenset(one.name for one in fields(CameraModel)) - {"codename", "device_name"}


class CatalogError(ValueError):
    """A model file cannot be used; the text names the file, the key, the valid values and the line."""


class CatalogUnreadable(CatalogError):
    """A model file cannot be read, which may pass."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A model, and the keys that are set in its file."""

    table: Mapping[str, Any]
    model: CameraModel


def _is_ignored(_: Path, __: str) -> None:
    pass


def load(folder: Path | None = None, on_retired: OnRetired = _is_ignored) -> CameraModels:
    """The shipped models, and those of `folder` if it exists; raises CatalogError."""
    own = [] if folder is None else sorted(folder.glob("*.toml"))
    return read([*sorted(SHIPPED.glob("*.toml")), *own], on_retired) if own else _shipped()


@cache
def _shipped() -> CameraModels:
    return read(sorted(SHIPPED.glob("*.toml")))


def read(files: Iterable[Path], on_retired: OnRetired = _is_ignored) -> CameraModels:
    """The models of some files, later ones over earlier ones; raises CatalogError."""
    known: dict[str, _Known] = {}
    for file in files:
        try:
            document = Document.read(file)
            for key in _without_retired(document.table):
                on_retired(file, key)
            with document.naming():
                known |= _read(document.table, known)
        except TomlUnreadable as error:
            raise CatalogUnreadable(str(error)) from None
        except TomlError as error:
            raise CatalogError(str(error)) from None
    return CameraModels(one.model for one in known.values())


def _without_retired(document: Mapping[str, Any]) -> list[str]:
    """Remove the retired keys, and return which there were."""
    models = document.get("model")
    tables = [document.get("defaults"), *(models if isinstance(models, list) else [])]
    found = {
        f"{name}.{key}"
        for table in tables
        for name, key in _RETIRED
        if isinstance(table, dict)
        and isinstance(inner := table.get(name), dict)
        and inner.pop(key, None) is not None
    }
    return sorted(found)


def _read(document: Mapping[str, Any], before: Mapping[str, _Known]) -> dict[str, _Known]:
    for key in document:
        if key not in ("defaults", "model"):
            raise Invalid((key,), "unknown key; expected [defaults] and [[model]]")
    defaults, tables = document.get("defaults", {}), document.get("model", [])
    if not isinstance(defaults, dict):
        raise Invalid(("defaults",), "expected a table")
    for key in defaults:
        if key not in _DEFAULTS:
            expected = f"expected one of {', '.join(sorted(_DEFAULTS))}"
            raise Invalid(("defaults", key), f"unknown key; {expected}")
    if not isinstance(tables, list):
        raise Invalid(("model",), "expected [[model]] tables")
    found: dict[str, _Known] = {}
    for number, table in enumerate(tables):
        try:
            one = _model(table, defaults, before)
            expect(one.model.codename not in found, "codename", "each codename once")
            _expect_distinct(one.model.codename, (*before, *found))
        except Invalid as invalid:
            raise Invalid(("model", number, *invalid.keys), invalid.problem) from None
        found[one.model.codename] = one
    return found


def _expect_distinct(codename: str, others: Iterable[str]) -> None:
    for other in others:
        is_other = other == codename or codename_key(other) != codename_key(codename)
        expect(is_other, "codename", f'a codename that differs from "{other}" in more than dashes')


def _model(table: object, defaults: Mapping[str, Any], before: Mapping[str, _Known]) -> _Known:
    if not isinstance(table, dict):
        raise Invalid((), "expected a table")
    codename = table.get("codename")
    earlier = before.get(codename) if isinstance(codename, str) else None
    merged = {**(earlier.table if earlier else {}), **defaults, **table}
    return _Known(merged, build(CameraModel, merged))
