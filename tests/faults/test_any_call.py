"""Any call of any member of any object: success, or an error that has a name; never silence or the end."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any

import pytest
from dbus_next.aio.message_bus import MessageBus
from dbus_next.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.processes import Hub
from tests.soak import examples
from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, BusError, Variant
from wifimgrd.wire import names
from wifimgrd.wire.definitions import parse_interface

OBJECTS = {
    "/org/wifimgrd1": names.MANAGER,
    "/org/wifimgrd1/devices/1": names.DEVICE,
    "/org/wifimgrd1/interfaces/wlan0": names.INTERFACE,
    "/org/wifimgrd1/simulator": names.SIMULATOR,
}
DEFINITIONS = {
    name: parse_interface(
        resources.files("wifimgrd.wire").joinpath("introspection", f"{name}.xml").read_text()
    )
    for name in OBJECTS.values()
}
ERRORS = ("org.wifimgrd1.Error.", "org.freedesktop.DBus.Error.")

Arguments = tuple[str, list[Any]]
"""A signature and its values."""

PATHS = st.sampled_from(
    ["/", "/org", *OBJECTS, "/org/wifimgrd1/devices/0", "/org/wifimgrd1/devices/_31", "/a" * 200]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
BASIC = {
    "y": st.integers(0, 2**8 - 1),
    "b": st.booleans(),
    "n": st.integers(-(2**15), 2**15 - 1),
    "q": st.integers(0, 2**16 - 1),
    "i": st.integers(-(2**31), 2**31 - 1),
    "u": st.integers(0, 2**32 - 1),
    "x": st.integers(-(2**63), 2**63 - 1),
    "t": st.integers(0, 2**64 - 1),
    "d": st.floats(),
    "s": TEXTS,
    "o": PATHS,
    "g": st.sampled_from(["", "s", "a{sv}", "(ii)"]),
    "ay": st.binary(max_size=100) | st.binary(min_size=5_000, max_size=6_000),
}
VALUES = st.recursive(
    st.sampled_from(sorted(BASIC)).flatmap(lambda kind: BASIC[kind].map(lambda value: Variant(kind, value))),
    lambda inner: (
        st.lists(inner, max_size=5).map(lambda items: Variant("av", items))
        | st.dictionaries(TEXTS, inner, max_size=3).map(lambda items: Variant("a{sv}", items))
        | inner.map(lambda value: Variant("v", value))
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["ssid", "password", "name", "codename", "connection_type", "wait", "explain", "idempotency_key", "Ssid",
     "connection_settings", "interface", "seconds", "off", "priority", "auto_reconnect", "all"]
) | TEXTS  # fmt: skip
OPTIONS = st.dictionaries(KEYS, VALUES, max_size=5)
KINDS = BASIC | {
    "a{sv}": OPTIONS,
    "v": VALUES,
    "as": st.lists(TEXTS, max_size=50),
    "ao": st.lists(PATHS, max_size=20),
}
SIGNATURES = st.lists(st.sampled_from(sorted(KINDS)), max_size=4)


@st.composite
def arguments(draw: st.DrawFn, signature: list[str] | None = None) -> Arguments:
    """A signature, a given one or any, and values of it."""
    kinds = draw(SIGNATURES) if signature is None else signature
    return "".join(kinds), [draw(KINDS[kind]) for kind in kinds]


Method = tuple[str, str, str, list[str]]
"""Path, interface, name and types of the arguments."""


def _split(signature: str) -> list[str]:
    """Into the types that are made here."""
    return re.findall(r"a\{sv\}|ay|as|ao|.", signature)


METHODS: list[Method] = [
    (path, name, member, _split(method.question))
    for path, name in OBJECTS.items()
    for member, method in DEFINITIONS[name].methods.items()
] + [
    (path, *method)
    for path in OBJECTS
    for method in (
        (bus_names.PROPERTIES, "Get", ["s", "s"]),
        (bus_names.PROPERTIES, "Set", ["s", "s", "v"]),
        (bus_names.PROPERTIES, "GetAll", ["s"]),
        (bus_names.OBJECT_MANAGER, "GetManagedObjects", []),
        (bus_names.INTROSPECTABLE, "Introspect", []),
        (bus_names.PEER, "Ping", []),
    )
]


async def answered(bus: BusConnection, path: str, interface: str, member: str, arguments: Arguments) -> bool:
    """Whether a call succeeds; an error must have a name of ours or of the standard's, and be no accident."""
    signature, body = arguments
    try:
        await bus.call(names.BUS_NAME, path, interface, member, signature, body)
    except BusError as refused:
        error = refused
    else:
        return True
    assert error.name.startswith(ERRORS), error.name
    assert error.name != "org.wifimgrd1.Error.Failed", (path, member, signature, body)
    assert error.message
    assert "Traceback" not in error.message
    return False


@pytest.fixture
async def bus(hub: Hub) -> AsyncIterator[BusConnection]:
    connection = await BusConnection.open(hub.address)
    await hub.create(1)
    owner = await connection.name_owner(names.BUS_NAME)
    yield connection
    assert await connection.name_owner(names.BUS_NAME) == owner
    await connection.close()


SOME = settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def fitting_calls(draw: st.DrawFn) -> tuple[Method, Arguments]:
    """A method, and arguments of the types that it takes."""
    method = draw(st.sampled_from(METHODS))
    return method, draw(arguments(method[3]))


@given(fitting_calls())
@SOME
async def test_any_values_are_taken_or_refused_by_name(
    bus: BusConnection, call: tuple[Method, Arguments]
) -> None:
    (path, interface, member, _), values = call
    await answered(bus, path, interface, member, values)


@given(st.sampled_from(METHODS), PATHS, arguments())
@SOME
async def test_any_types_at_any_path_are_refused_by_name(
    bus: BusConnection, method: Method, path: str, values: Arguments
) -> None:
    await answered(bus, path, method[1], method[2], values)


@given(st.sampled_from(list(OBJECTS.items())), TEXTS, TEXTS, VALUES)
@settings(SOME, max_examples=examples(30))
async def test_any_property_is_read_or_refused_by_name_and_none_is_set(
    bus: BusConnection, where: tuple[str, str], interface: str, name: str, value: Variant
) -> None:
    path, own = where
    for face in (own, "", interface):
        known = list(DEFINITIONS[own].properties)
        for one in [*known[:3], name]:
            await answered(bus, path, bus_names.PROPERTIES, "Get", ("ss", [face, one]))
            assert not await answered(bus, path, bus_names.PROPERTIES, "Set", ("ssv", [face, one, value]))
        await answered(bus, path, bus_names.PROPERTIES, "GetAll", ("s", [face]))


async def test_file_descriptors_are_not_taken(hub: Hub, bus: BusConnection) -> None:
    """The connection does not say that it takes them, and so the message bus refuses them for it."""
    raw = await MessageBus(bus_address=hub.address, negotiate_unix_fd=True).connect()
    with open("/dev/null", "rb") as file:  # noqa: ASYNC230, PTH123
        reply = await raw.call(
            Message(
                destination=names.BUS_NAME,
                path=names.ROOT_PATH,
                interface=names.MANAGER,
                member="CreateDevice",
                signature="h",
                body=[0],
                unix_fds=[file.fileno()],
            )
        )
    assert reply is not None
    assert reply.error_name.startswith("org.freedesktop.DBus.Error.")
    raw.disconnect()  # type: ignore[no-untyped-call]
    await raw.wait_for_disconnect()  # type: ignore[no-untyped-call]
    raw._stream.close()  # the library leaves both open
    raw._sock.close()
    await bus.get(names.BUS_NAME, names.ROOT_PATH, names.MANAGER, "Version")
