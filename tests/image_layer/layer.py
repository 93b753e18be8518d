"""Read a layer of rpi-image-gen: the fields in its comments, and what it adds to a build.

The format: https://github.com/raspberrypi/rpi-image-gen, docs/layer/index.adoc and site/env_types.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

CHECKOUT: Final = Path(__file__).parents[2]
FOLDER: Final = CHECKOUT / "packaging" / "rpi-image-gen"
LAYER: Final = FOLDER / "layer" / "wifimgrd.yaml"
_FIELD: Final = re.compile(r"(X-Env-[A-Za-z0-9_-]+):(?: (.*))?")


@dataclass(frozen=True)
class Variable:
    """One that the layer declares, with its attributes by their suffixes."""

    default: str
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class Layer:
    """A layer's fields by their names, and the mapping `mmdebstrap` of its body."""

    fields: Mapping[str, str]
    mmdebstrap: Mapping[str, Any]

    @property
    def variables(self) -> Mapping[str, Variable]:
        """What it declares; `IGconf_PREFIX_NAME` in a hook."""
        declared = {
            name.removeprefix("X-Env-Var-"): value
            for name, value in self.fields.items()
            if name.startswith("X-Env-Var-")
        }
        names = [name for name in declared if "-" not in name]
        return {
            name: Variable(
                declared[name],
                {
                    key.removeprefix(f"{name}-"): value
                    for key, value in declared.items()
                    if key.startswith(f"{name}-")
                },
            )
            for name in names
        }

    def environment(self, **values: str) -> dict[str, str]:
        """What its hooks find, with these values and the defaults of others."""
        prefix = self.fields["X-Env-VarPrefix"]
        defaults = {name: variable.default for name, variable in self.variables.items()}
        assert values.keys() <= defaults.keys()
        return {f"IGconf_{prefix}_{name}": value for name, value in (defaults | values).items()}


def read(text: str) -> Layer:
    """Read a layer's text; raises ValueError for what rpi-image-gen would refuse, or would read otherwise
    than it looks."""
    body = yaml.safe_load(text)
    lines = text.splitlines()
    if lines.count("# METABEGIN") != 1 or lines.count("# METAEND") != 1:
        raise ValueError("one METABEGIN and one METAEND are needed")
    fields: dict[str, str] = {}
    last = ""
    for line in lines[lines.index("# METABEGIN") + 1 : lines.index("# METAEND")]:
        content = line.removeprefix("#").removeprefix(" ")
        if not content.strip():
            continue
        if content.startswith(" "):
            if not last:
                raise ValueError(f"nothing is continued by: {line}")
            fields[last] += f"\n{content}"
        elif (found := _FIELD.fullmatch(content)) and found[1] not in fields:
            last = found[1]
            fields[last] = found[2] or ""
        else:
            raise ValueError(f"not a field, or there twice: {line}")
    return Layer(fields, body["mmdebstrap"])
