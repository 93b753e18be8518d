"""What a subscription has the kernel keep from it, on sockets that programs share: they carry any message."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

import pytest

from wifimgrd.kernel._messages import Message, attribute, request
from wifimgrd.kernel.links import SCANS, link_in
from wifimgrd.kernel.subscription import Subscription

_NETLINK_USERSOCK = 2
_GROUP = 1
_NAME = attribute(3, "wlan0")
_SCAN = attribute(11, bytes(8))
_NEW_LINK, _DELETE_LINK = 16, 17


@pytest.fixture
def sender() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_USERSOCK) as netlink:
        netlink.bind((0, 0))
        yield netlink


def link(index: int, *attributes: bytes, kind: int = _NEW_LINK) -> bytes:
    return request(kind, 0, struct.pack("=BxHiII", 0, 1, index, 0, 0) + b"".join(attributes))


async def received_of(sender: socket.socket, *sent: bytes) -> list[Message]:
    """What of it a subscription gets that wants no scans, until the last, which it has to get."""
    received: asyncio.Queue[Message] = asyncio.Queue()
    subscription = Subscription(_NETLINK_USERSOCK, _GROUP, received.put_nowait, lambda: None, unwanted=SCANS)
    subscription.open()
    try:
        for one in sent:
            with suppress(
                ConnectionRefusedError
            ):  # by the kernel itself, to which it is sent after the group
                sender.sendto(one, (0, _GROUP))
        every: list[Message] = []
        async with asyncio.timeout(20):
            while not every or every[-1].body != sent[-1][16:]:
                every.append(await received.get())
        return every
    finally:
        subscription.close()


@pytest.mark.parametrize("attributes", [(_SCAN,), (_NAME, _SCAN), (_NAME, attribute(16, b"\6"), _SCAN)])
async def test_scans_do_not_wake_the_process(sender: socket.socket, attributes: tuple[bytes, ...]) -> None:
    [only] = await received_of(sender, link(7, *attributes), link(8, _NAME))
    found = link_in(only.body)
    assert found is not None
    assert found.index == 8


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(link(7, _NAME), id="another attribute"),
        pytest.param(link(7), id="no attribute"),
        pytest.param(link(7, _NAME, _SCAN, kind=_DELETE_LINK), id="an interface that is gone"),
        pytest.param(link(7, attribute(18, _SCAN)), id="the attribute inside of another"),
        pytest.param(request(_NEW_LINK, 0, b""), id="nothing"),
    ],
)
async def test_all_else_is_delivered(sender: socket.socket, message: bytes) -> None:
    assert len(await received_of(sender, message, link(8, _NAME))) == 2
