"""`wifimgrctl models`: the catalog of camera models, which needs no daemon."""

from __future__ import annotations

import argparse

from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Column
from wifimgrd.cli._text import safe
from wifimgrd.config.configuration import ConfigError, load_models
from wifimgrd.domain.camera_model import CameraModels


def models(arguments: argparse.Namespace, screen: Screen) -> bool:
    """List the models; False if the catalog cannot be read."""
    try:
        known = load_models(arguments.config)
    except ConfigError as error:
        screen.fail("invalid-request", str(error))
        return False
    value = [
        {"codename": one.codename, "device_name": one.device_name, "sources": list(one.sources)}
        for one in known.values()
    ]
    rows = [(one.codename, one.device_name) for one in known.values()]
    screen.show(value, screen.table((Column("CODENAME"), Column("MODEL", least=12)), rows))
    return True


def complete_codenames(screen: Screen) -> bool:
    """For shells: each codename and its meaning, one a line."""
    for one in known_models().values():
        screen.show_one(one.codename, f"{one.codename}\t{safe(one.device_name)}")
    return True


def known_models() -> CameraModels:
    """The catalog; empty if it cannot be read, which `models` reports."""
    try:
        return load_models()
    except ConfigError:
        return CameraModels()
