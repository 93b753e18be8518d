"""A host without the simulator's package is told which one it is; a fault inside the simulator stays one."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from wifimgrd.config.configuration import ConfigError
from wifimgrd.daemon._daemon import _simulator


def test_a_host_without_the_simulator_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wifimgrd.simulator", None)
    with pytest.raises(ConfigError, match="in the package wifimgrd-simulator, which is not installed"):
        _simulator()


def test_an_empty_folder_is_not_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wifimgrd.simulator", ModuleType("wifimgrd.simulator"))
    with pytest.raises(ConfigError, match="in the package wifimgrd-simulator, which is not installed"):
        _simulator()


def test_a_simulator_that_lacks_something_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("wifimgrd.simulator")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "wifimgrd.simulator._parts", None)
    with pytest.raises(ModuleNotFoundError) as raised:
        _simulator()
    assert raised.value.name == "wifimgrd.simulator._parts"
