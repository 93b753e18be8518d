"""`wifimgrctl groups` and `connect --group`, on the real daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.running import wifimgrctl
from tests.grouped_hub import LEFT, TAIL, grouped_hub, until_connected
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub


@pytest.fixture
async def grouped(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with grouped_hub(message_bus.address, tmp_path) as hub:
        yield hub


async def test_groups_are_listed_and_connected(grouped: Hub) -> None:
    address = grouped.address
    ran = await wifimgrctl(address, "groups")
    assert ran.status == 0
    assert [line.split() for line in ran.out.splitlines()] == [
        ["GROUP", "CAMERAS"],
        ["nose", "Nose,", "Chin,", "nobody", "(no", "such", "camera)"],
        ["everyone", "Nose,", "Chin,", "Left,", "Tail"],
    ]
    assert (await wifimgrctl(address, "groups", "--json")).value["groups"][0] == {
        "name": "nose",
        "device_ids": [1, 2],
        "missing": ["nobody"],
    }
    ran = await wifimgrctl(address, "interfaces")
    assert 'a camera named "Belly", but there is no such camera' in ran.err
    words = await wifimgrctl(address, "completions", "groups")
    assert words.out == "nose\tNose, Chin\neveryone\tNose, Chin, Left, Tail\n"

    ran = await wifimgrctl(address, "connect", "--group", "everyone")
    assert (ran.status, ran.out) == (1, "")
    assert "(no-interface-available)" in ran.err
    assert "Nothing was changed." in ran.err
    await until_connected(grouped, {LEFT, TAIL})

    ran = await wifimgrctl(address, "connect", "--group", "nose")
    assert ran.status == 0
    assert [line.partition(" through ")[0] for line in ran.out.splitlines()] == [
        "Nose is connected",
        "Chin is connected",
    ]
    ran = await wifimgrctl(address, "connect", "--group", "everyone", "--partial", "--json")
    assert ran.status == 1
    assert [one["done"] for one in ran.value["results"]] == [True, True, True, False]
    ran = await wifimgrctl(address, "connect", "--group", "everyone", "--partial")
    assert "Tail is not connected: " in ran.out
    ran = await wifimgrctl(address, "connect", "--group", "nobody")
    assert (ran.status, ran.err) == (1, 'wifimgrctl: there is no group "nobody" (group-not-found)\n')


async def test_a_hub_without_groups_says_where_they_come_from(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "groups")
    assert (ran.status, ran.out) == (0, "")
    assert "[[connect.group]]" in ran.err
    assert (await wifimgrctl(hub.address, "groups", "--json")).value == {"groups": []}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (("--partial", "Nose"), "--partial needs --group"),
        (("--group", "nose", "--wake"), "--group has only the option --partial"),
        (("--group", "nose", "--no-wait"), "--group has only the option --partial"),
        (("--group", "nose", "--timeout", "5"), "--group has only the option --partial"),
        (("--group", "nose", "Nose"), "not allowed with argument"),
    ],
)
async def test_a_group_is_connected_with_options_of_its_own(line: tuple[str, ...], sentence: str) -> None:
    ran = await wifimgrctl("unix:path=/nowhere", "connect", *line)
    assert ran.status == 2
    assert sentence in ran.err
