"""A scripted random life of the hub: people who command it, and a world that does as it pleases."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import aiohttp

from tests.commands import connect, disconnect
from tests.http.served import Answer, P, Served
from tests.soak import IS_SOAK
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import WifimgrdError

DEVICES_EACH: Final = 3
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}
_NUMBERS: Final = 10
"""Of each seed come this many chances: one for each person, the world and the page."""
_REFUSALS: Final = {400, 404, 409, 502, 503, 504}

Json = dict[str, Any]


def duration_s(default: str, variable: str = "WIFIMGRD_SOAK") -> int:
    """How long a life is to be, in the environment's variable such as 90s or 6h."""
    said = os.environ.get(variable) or default
    return int(said[:-1]) * _UNITS[said[-1]]


def seed() -> int:
    """The seed of a life: WIFIMGRD_SEED, or any with `make soak`."""
    chosen = int(os.environ.get("WIFIMGRD_SEED") or "0")
    return chosen or (random.SystemRandom().randrange(1, 10**6) if IS_SOAK else 1)


def chance_of(life: int, number: int) -> random.Random:
    """What somebody in a life does next; one number for each of them."""
    assert number < _NUMBERS
    return random.Random(life * _NUMBERS + number)


@dataclass(frozen=True, slots=True)
class Network:
    """A camera's, as people know it."""

    ssid: str
    password: str


class World(Protocol):
    """Adapters and cameras that come and go, and what goes wrong."""

    async def act(self) -> None:
        """One change."""

    async def mend(self) -> None:
        """Everything is plugged in, switched on and works."""


@dataclass(slots=True)
class Person:
    """Commands devices of their own, over D-Bus and HTTP by turns, and knows what was acknowledged."""

    client: HubClient
    http: Served
    networks: Sequence[Network]
    chance: random.Random
    waits_s: dict[str, list[float]]
    """How long each kind of command took to be answered."""
    names: dict[int, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)

    async def act(self) -> None:
        """One command."""
        known = sorted(self.names)
        device = self.chance.choice(known) if known else 0
        wishes: list[Callable[[int], Awaitable[None]]] = [self._ask_nonsense, self._look]
        if known:
            wishes += [self._connect] * 6 + [self._disconnect] * 3 + [self._rename] * 2 + [self._remove]
        if len(known) < DEVICES_EACH:
            wishes += [self._create] * 4
        wish = self.chance.choice(wishes)
        asked = time.monotonic()
        with suppress(WifimgrdError):  # refused, with the reason
            await wish(device)
        self.waits_s[wish.__name__.strip("_")].append(time.monotonic() - asked)

    def _over_http(self) -> bool:
        return self.chance.random() < 0.5

    async def _create(self, _: int) -> None:
        network, name = self.chance.choice(self.networks), f"camera {self.chance.random()}"
        settings = {"ssid": network.ssid, "password": network.password}
        body = {"codename": "x", "connection_type": "wifi", "name": name}
        if self._over_http():
            answer = await self._ask("POST", "/", json=body | {"connection_settings": settings})
            device = answer.json["id"]
        else:
            device = await self.client.create_device(body | settings)
        assert device not in self.gone, "an id was given again"
        self.names[device] = name

    async def _rename(self, device: int) -> None:
        name = f"renamed {self.chance.random()}"
        if self._over_http():
            assert (await self._ask("PATCH", f"/{device}", json={"name": name})).json["name"] == name
        else:
            await self.client.update_device(device, {"name": name})
        self.names[device] = name

    async def _remove(self, device: int) -> None:
        if self._over_http():
            await self._ask("DELETE", f"/{device}")
        else:
            await self.client.remove_device(device)
        del self.names[device]
        self.gone.add(device)

    async def _connect(self, device: int) -> None:
        wait = self.chance.random() < 0.5
        if self._over_http():
            await self._ask("GET", f"/wifi/connect?device_id={device}{'&wait=3' if wait else ''}")
        else:
            with suppress(TimeoutError):
                await connect(self.client, device, wait=wait, timeout_s=3)

    async def _disconnect(self, device: int) -> None:
        if self._over_http():
            await self._ask("POST", f"/wifi/disconnect?device_id={device}")
        else:
            await disconnect(self.client, device)

    async def _look(self, _: int) -> None:
        await self._ask("GET", self.chance.choice(("/", "/wifi/interfaces", "/supported-devices/")))

    async def _ask_nonsense(self, _: int) -> None:
        path = self.chance.choice(("/0", "/x", "/wifi/status?device_id=", "/wifi/connect?device_id=999999"))
        assert (await self._ask("GET", path)).status in {400, 404}

    async def _ask(self, method: str, path: str, **options: Any) -> Answer:
        """Raises WifimgrdError where the answer is a refusal."""
        answer = await self.http.ask(method, P + path, **options)
        assert answer.status < 300 or answer.status in _REFUSALS, (method, path, answer.status, answer.data)
        if answer.status >= 300 and method != "GET":
            raise WifimgrdError(str(answer.problem["detail"]))
        return answer


@dataclass(slots=True)
class Follower:
    """The page: a copy of everything, kept by the management channel alone, which breaks now and then."""

    http: Served
    chance: random.Random
    devices: dict[int, Json] = field(default_factory=dict)
    interfaces: dict[str, Json] = field(default_factory=dict)
    mark: tuple[str, int] | None = None
    reported: asyncio.Event = field(default_factory=asyncio.Event)
    snapshots: int = 0

    async def follow(self) -> None:
        """Join, take in what is sent, lose the connection, and go on from where that was."""
        while True:
            since = f"?since={self.mark[0]}:{self.mark[1]}" if self.mark else ""
            async with self.http.session.ws_connect(f"{self.http.url}/ws/management/{since}") as channel:
                async for message in channel:
                    assert message.type is aiohttp.WSMsgType.TEXT
                    self.take(json.loads(message.data))
                    self.reported.set()
                    if self.chance.random() < 0.01:
                        break

    def take(self, message: Json) -> None:
        """Take one message in; numbers have no gaps."""
        data = message.get("data", {})
        if message["type"] == "snapshot":
            self.snapshots += 1
            self.devices = {one["id"]: one for one in message["devices"]}
            self.interfaces = {one["name"]: one for one in message["interfaces"]}
            self.mark = message["epoch"], message["seq"]
            return
        assert self.mark is not None
        if "seq" in message:
            assert message["seq"] == self.mark[1] + 1, "a gap in the events"
            self.mark = self.mark[0], message["seq"]
        match message["type"]:
            case "device.created" | "device.updated":
                self.devices[data["id"]] = data
            case "device.removed":
                del self.devices[data["id"]]
            case "device.connection_status.update" if data["connection_status"] != "failed":
                self.devices[data["id"]] |= data
            case "device.signal":
                self.devices[data["id"]] |= data
            case "interface.added" | "interface.updated":
                self.interfaces[data["name"]] = data
            case "interface.removed":
                del self.interfaces[data["name"]]


@dataclass(slots=True)
class Life:
    """All of it together."""

    client: HubClient
    http: Served
    seed: int
    networks: Sequence[Network]
    world: World
    crowd: int = 4
    pause_s: float = 0.02
    """People think."""
    change_s: float = 0.1
    """And the world is not in a hurry."""
    people: list[Person] = field(init=False)
    follower: Follower = field(init=False)
    waits_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        chances = [chance_of(self.seed, number) for number in range(self.crowd)]
        self.people = [
            Person(self.client, self.http, self.networks, chance, self.waits_s) for chance in chances
        ]
        self.follower = Follower(self.http, chance_of(self.seed, _NUMBERS - 1))

    async def live(self, seconds: float) -> dict[str, list[float]]:
        """Let everybody act for a while; give how long their commands took."""
        self.waits_s.clear()
        end = time.monotonic() + seconds

        async def go_on(act: Callable[[], Awaitable[None]], pause_s: float) -> None:
            while time.monotonic() < end:
                await act()
                await asyncio.sleep(pause_s)

        async with asyncio.TaskGroup() as group:
            for person in self.people:
                group.create_task(go_on(person.act, self.pause_s))
            group.create_task(go_on(self.world.act, self.change_s))
        return dict(self.waits_s)

    async def check(self, settled_s: float = 20.0) -> None:
        """What must hold once nobody acts: nothing is lost, and all faces show the same."""
        names = {device: name for person in self.people for device, name in person.names.items()}
        async with asyncio.timeout(settled_s):
            while not await self._agrees():
                self.follower.reported.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.follower.reported.wait(), 0.5)
        found = {device.id: device.name for device in self.client.devices.values()}
        assert found == names, "what was acknowledged is not what is there"

    async def _agrees(self) -> bool:
        """Whether D-Bus, HTTP and the channel say the same; each is consistent at any time."""
        devices = {device.id: device.interface for device in self.client.devices.values()}
        taken = [interface for interface in devices.values() if interface]
        assert len(taken) == len(set(taken)), "an interface with two devices"
        interfaces = {one.name: one for one in self.client.interfaces.values()}
        for one in interfaces.values():
            assert (one.state == "in-use") == (one.device_id is not None), f"{one.name} is {one.state}"
        records = (await self.http.get(P)).json
        listed = (await self.http.get(P + "/wifi/interfaces")).json["interfaces"]
        return (
            {record["id"]: record["interface"] for record in records} == devices
            and all(devices[number] == name for name, number in _assignments(listed).items())
            and {one["name"]: one for one in listed} == self.follower.interfaces
            and list(map(_without_signal, records))
            == [_without_signal(self.follower.devices[one]) for one in sorted(self.follower.devices)]
        )


def _assignments(interfaces: list[Json]) -> dict[str, int]:
    return {one["name"]: one["device_id"] for one in interfaces if one["device_id"] is not None}


def _without_signal(record: Json) -> Json:
    """The signal is reported in steps."""
    return {key: value for key, value in record.items() if key != "signal_strength"}
