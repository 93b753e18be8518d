"""The properties that are read of other services' interfaces are those that are declared."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest

import wifimgrd.proxies
from wifimgrd.bus._messages import BusError
from wifimgrd.bus.proxy import ProxyWithProperties
from wifimgrd.proxies.networkmanager.device import Device
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface


def proxies() -> Iterator[type[ProxyWithProperties[Any]]]:
    for module in pkgutil.walk_packages(wifimgrd.proxies.__path__, "wifimgrd.proxies."):
        for _, one in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(one, ProxyWithProperties) and one.__module__ == module.name:
                yield one


def reads(proxy: type) -> Iterator[tuple[str, object]]:
    """The properties that a proxy's methods read one by one, and the types that they expect."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(proxy)))):
        match node:
            case ast.Call(ast.Attribute(ast.Name("self"), "get"), [ast.Constant(str() as name), shape]):
                yield name, eval(ast.unparse(shape), vars(inspect.getmodule(proxy)))


def test_a_property_that_is_read_by_itself_is_of_the_declared_type() -> None:
    found = {(proxy.__name__, name, shape) for proxy in proxies() for name, shape in reads(proxy)}
    assert ("Device", "Ip4Config", str) in found
    declared = {
        (proxy.__name__, name, shape)
        for proxy in proxies()
        for name, shape in get_type_hints(proxy.PROPERTIES).items()
    }
    assert found <= declared


def test_a_change_to_a_value_of_another_type_is_none() -> None:
    changed = {"State": "up", "Interface": "wlan0", "Mtu": 1500}
    assert Device.changes(["", changed, []]) == {"Interface": "wlan0"}
    assert SupplicantInterface.changes(["", {"State": 3, "RSN": []}, []]) == {}


@pytest.mark.parametrize("body", [[], [""], ["", "State", []], ["", None, []]])
def test_a_signal_without_changes_is_an_error_of_the_bus(body: list[object]) -> None:
    with pytest.raises(BusError):
        Device.changes(body)
