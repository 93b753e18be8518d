"""The set-ups of Mosquitto in docs/fleet.md, run as they are printed."""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from tests.commands import disconnect
from tests.docs.code_blocks import code_blocks
from tests.message_bus import MessageBusDaemon
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.conftest import HUB
from tests.mqtt.mosquitto import Mosquitto
from tests.mqtt.observer import Observer
from tests.mqtt.private_host import PrivateHost, network_of, private_host
from tests.processes import Hub, camera
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.mqtt._access import Access, Tls
from wifimgrd.mqtt._broker import Broker, Will
from wifimgrd.mqtt._connection import BrokerError
from wifimgrd.mqtt._library import Received
from wifimgrd.mqtt._refusals import FAILURE, NOT_AUTHORIZED

pytestmark = pytest.mark.slow

BLOCKS = code_blocks("docs/fleet.md")
VEHICLE = ("/etc/mosquitto/conf.d/vehicle.", "/etc/mosquitto/vehicle.")
"""What the names of files on the vehicle begin with."""
FILES = {one.where: one.text for one in BLOCKS if one.where.startswith("/")}
KEYS = [one.text.removeprefix("[mqtt]\n") for one in BLOCKS if one.language == "toml"]
NAME = "broker.example"
DEBIAN = Path("/etc/mosquitto/mosquitto.conf")
CERTIFICATES = "/etc/mosquitto/certs"
HUBS, PEOPLE, PAGES = 8883, 8884, 8084
PASSWORDS, VEHICLE_PASSWORDS = (
    dict(line.split(":") for line in FILES[f"/etc/mosquitto/{whose}.passwords"].splitlines())
    for whose in ("people", "vehicle")
)
LINK = "wifimgrd-links/boat"
DISCONNECT = b'{"command": "disconnect"}'
SLOW_S = 60.0
"""For what waits for timers of TCP, or of a reconnection."""


def test_the_certificates_have_the_extensions_that_python_3_13_demands() -> None:
    with private_host() as central:
        central.run("bash", "-euc", next(one.text for one in BLOCKS if one.where == "broker"))
        for name in (NAME, "boat"):
            check = "openssl", "verify", "-x509_strict", "-CAfile"
            central.run(*check, f"{CERTIFICATES}/authority.pem", f"{CERTIFICATES}/{name}.pem")


@dataclass(frozen=True, slots=True)
class Fleet:
    """The broker's host, and a vehicle's."""

    central: PrivateHost
    vehicle: PrivateHost
    folder: Path
    broker: Mosquitto

    def access(self, user: str) -> Access:
        """How a person connects."""
        address = BrokerAddress(NAME, PEOPLE, tls=True)
        return Access(address, user, PASSWORDS[user], Tls(self.central.file(f"{CERTIFICATES}/authority.pem")))

    def on_vehicle(self, user: str | None) -> AbstractAsyncContextManager[Observer]:
        """A client of the vehicle's broker, which has subscribed to everything; None = without a password."""
        password = None if user is None else VEHICLE_PASSWORDS[user]
        access = Access(BrokerAddress("127.0.0.1", 1883, tls=False), user or "", password)
        return self.client(access, "#", host=self.vehicle)

    @asynccontextmanager
    async def client(
        self, access: Access, *filters: str, will: Will | None = None, host: PrivateHost | None = None
    ) -> AsyncIterator[Observer]:
        """A client of the central broker, or of that on another host, which has subscribed."""
        found: list[Observer] = []
        early: list[Received] = []
        with network_of(host or self.central):
            connection = await Broker(access).connect(
                f"client-{id(found)}",
                will,
                lambda message: found[0].receive(message) if found else early.append(message),
                lambda: None,
            )
        found.append(Observer(connection))
        try:
            if filters:
                await connection.subscribe(filters, qos=1)
            yield found[0]
        finally:
            connection.disconnect()

    def people(self, user: str) -> AbstractAsyncContextManager[Observer]:
        """A client as a user has it, which has subscribed to all of the hub."""
        return self.client(self.access(user), f"{HUB}/#")


@pytest.fixture
async def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    """Everything of the document's first part, up to a running broker."""
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *rest: real("127.0.0.1" if host == NAME else host, *rest)
    )
    with private_host() as central, private_host() as vehicle:
        central.connect(vehicle, "192.0.2.1", "192.0.2.2")
        for block in BLOCKS:
            if block.where.startswith("/") and not block.where.startswith(VEHICLE):
                central.file(block.where).write_text(block.text)
            elif block.where == "broker":
                central.run("bash", "-euc", block.text)
        with vehicle.file("/etc/hosts").open("a") as hosts:
            hosts.write(f"192.0.2.1 {NAME}\n")
        for folder in ("/etc/wifimgrd/mqtt", CERTIFICATES):
            vehicle.file(folder).mkdir(parents=True, exist_ok=True)
            for name in ("authority.pem", "boat.pem", "boat.key"):
                copy = vehicle.file(f"{folder}/{name}")
                copy.write_bytes(central.file(f"{CERTIFICATES}/{name}").read_bytes())
        vehicle.run("chown", "mosquitto:", f"{CERTIFICATES}/boat.key")
        broker = Mosquitto(tmp_path / "central", port=PAGES, host=central)  # which it opens last
        broker.folder.mkdir()
        await broker.run(DEBIAN)
        yield Fleet(central, vehicle, tmp_path, broker)
        await broker.kill()


@asynccontextmanager
async def running_bridge(fleet: Fleet, bus: MessageBusDaemon, keys: str) -> AsyncIterator[BridgeProcess]:
    """The hub `boat` on the vehicle."""
    bridge = BridgeProcess(fleet.folder / "bridge", bus.address, keys, fleet.vehicle)
    await bridge.start()
    try:
        yield bridge
    finally:
        await bridge.end(signal.SIGKILL)
    log = bridge.log.read_text()
    assert "Traceback" not in log
    assert "refused" not in log


@pytest.fixture
async def bridge(fleet: Fleet, message_bus: MessageBusDaemon, hub: Hub) -> AsyncIterator[BridgeProcess]:
    """The hub's bridge, connected to the broker itself."""
    assert hub.client.available
    async with running_bridge(fleet, message_bus, KEYS[0]) as bridge:
        await bridge.until_logged("broker_connected")
        yield bridge


async def until_retained(client: Observer, topic: str, payload: bytes | None = None) -> None:
    """Wait until a client has received a message, or a certain one."""
    await client.until(lambda: topic in client.retained and payload in {None, client.retained[topic]})


async def test_a_hub_does_all_it_needs_with_the_rights_that_are_printed(
    fleet: Fleet, bridge: BridgeProcess, hub: Hub
) -> None:
    filters = (f"{HUB}/#", "homeassistant/#")
    async with (
        fleet.client(fleet.access("dispatcher"), *filters) as dispatcher,
        fleet.client(fleet.access("homeassistant"), *filters) as homeassistant,
    ):
        command = {"command": "create", "options": dict(camera(1))}
        answer = await dispatcher.command(f"{HUB}/command", command, f"{HUB}/result")
        assert answer["ok"]
        device = answer["device_id"]
        topic = f"{HUB}/devices/{device}"
        await hub.until(device, "connected", 20)
        await dispatcher.until(
            lambda: (dispatcher.record(topic) or {}).get("connection_status") == "connected"
        )
        await homeassistant.until(
            lambda: f"homeassistant/device/wifimgrd_boat_{device}/config" in homeassistant.retained
        )
        await dispatcher.until(lambda: dispatcher.seen(f"{HUB}/events"))
        homeassistant.send(f"{topic}/command", {"command": "disconnect"})
        await hub.until(device, "disconnected", 20)
        assert await bridge.end() == 0
        await dispatcher.until(lambda: dispatcher.retained[f"{HUB}/availability"] == b"offline")
        await hub.client.remove_device(device)
        await bridge.start()
        await dispatcher.until(lambda: dispatcher.retained[f"{HUB}/availability"] == b"online")
        await dispatcher.until(lambda: topic not in dispatcher.retained)


async def test_the_fleet_is_shown_and_a_dispatcher_commands_it(
    fleet: Fleet, bridge: BridgeProcess, hub: Hub
) -> None:
    del bridge
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    topic, codes = f"{HUB}/devices/{device}", list[int]()
    async with fleet.people("viewer") as viewer, fleet.people("dispatcher") as dispatcher:
        await until_retained(viewer, topic)
        await until_retained(dispatcher, f"{HUB}/availability", b"online")
        viewer.connection.publish(f"{topic}/command", DISCONNECT, outcome=codes.append)
        await viewer.connection.until_delivered(20)
        assert codes == [NOT_AUTHORIZED]
        assert hub.client.devices[device].state == "connected"
        response = f"{HUB}/response/dispatcher"
        answer = await dispatcher.command(f"{topic}/command", DISCONNECT, response, ResponseTopic=response)
        assert (answer["ok"], answer["message"]) == (True, "disconnected")
        await viewer.until(lambda: viewer.record(topic)["connection_status"] == "disconnected")


async def test_hubs_are_listed_and_commanded_as_printed(
    fleet: Fleet, bridge: BridgeProcess, hub: Hub
) -> None:
    del bridge
    [options] = [one.text for one in BLOCKS if one.where == "~/.config/mosquitto_sub"]
    [block] = [one for one in BLOCKS if one.text.startswith("$ mosquitto_sub -v")]
    listing, connecting = block.steps
    folder = "/etc/wifimgrd/mqtt"
    for program in ("mosquitto_sub", "mosquitto_rr"):
        fleet.vehicle.file(f"{folder}/{program}").write_text(options)
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    await disconnect(hub.client, device)
    async with fleet.people("viewer") as viewer:
        await until_retained(viewer, f"{HUB}/availability", b"online")
    set_up = f"cd {folder}; export XDG_CONFIG_HOME={folder}; "
    assert fleet.vehicle.run("sh", "-uc", f"{set_up}{listing.command}[ $? = 27 ]") == listing.printed
    assert fleet.vehicle.run("sh", "-euc", set_up + connecting.command) == connecting.printed
    await hub.until(device, "connected", 20)


async def test_a_hub_that_is_gone_leaves_nothing_and_is_locked_out(
    fleet: Fleet, bridge: BridgeProcess, hub: Hub
) -> None:
    [printed] = [one.text for one in BLOCKS if one.text.startswith("$ systemctl disable")]
    [locked_out] = [one.text for one in BLOCKS if "topic deny" in one.text]
    commands = printed.replace("$ ", "").partition("\n")[2]  # here the bridge is no unit
    await hub.create(1)
    async with fleet.client(fleet.access("dispatcher"), f"{HUB}/#") as dispatcher:
        await until_retained(dispatcher, f"{HUB}/devices/1")
        assert await bridge.end() == 0
        fleet.vehicle.run("sh", "-uc", f"{commands}[ $? = 27 ]")  # the end of what -W says
        await dispatcher.until(lambda: not dispatcher.retained.keys() - {f"{HUB}/events"})
    rules = fleet.central.file("/etc/mosquitto/hubs.acl")
    rules.write_text(rules.read_text().partition("user boat")[0] + locked_out)
    await fleet.broker.kill()
    await fleet.broker.run(DEBIAN)
    await bridge.start()
    await bridge.until_logged("may this user write below wifimgrd/boat/")


async def test_nobody_but_the_hub_reads_commands(fleet: Fleet, bridge: BridgeProcess) -> None:
    del bridge
    async with (
        fleet.client(fleet.access("viewer"), "#") as viewer,
        fleet.client(fleet.access("dispatcher"), "#") as dispatcher,
        fleet.client(fleet.access("homeassistant"), "#") as homeassistant,
    ):
        command = {"command": "create", "options": dict(camera(1))}
        assert (await dispatcher.command(f"{HUB}/command", command, f"{HUB}/result"))["ok"]
        topic = f"{HUB}/devices/1"
        for one in (viewer, dispatcher, homeassistant):
            await until_retained(one, topic)
            assert not [message for message in one.messages if message.topic.endswith("/command")]


async def test_a_hub_has_home_assistant_write_to_the_commands_of_no_other(fleet: Fleet) -> None:
    codes: dict[str, int] = {}
    async with fleet.client(fleet.access("homeassistant")) as home:
        for topic in (
            f"{HUB}/devices/1/command",
            f"{HUB}/devices/all/command",
            "homeassistant/status",
            "wifimgrd/pier/devices/1/command",
            "wifimgrd/pier/devices/all/command",
            f"{HUB}/command",
            "homeassistant/device/wifimgrd_pier_1/config",
        ):
            home.connection.publish(topic, b"x", outcome=partial(codes.__setitem__, topic))
        await home.connection.until_delivered(20)
    assert [code >= FAILURE for code in codes.values()] == [False] * 3 + [True] * 4


FOREIGN = (
    "wifimgrd/other/availability",
    "wifimgrd/other/devices/1",
    "wifimgrd/other/devices/1/command",
    "wifimgrd/other/result",
    "wifimgrd/boats/hub",
    "wifimgrd/other",
    "wifimgrd",
    "wifimgrd-links/other",
    "homeassistant/device/wifimgrd_other_hub/config",
    "homeassistant/device/wifimgrd_boat_3x/config",
    "homeassistant/status",
)


async def test_a_hub_writes_nothing_into_the_topics_of_others(fleet: Fleet) -> None:
    certificates = fleet.central.file(CERTIFICATES)
    tls = Tls(certificates / "authority.pem", certificates / "boat.pem", certificates / "boat.key")
    boat = Access(BrokerAddress(NAME, HUBS, tls=True), "other", "any", tls)
    codes: list[int] = []
    async with (
        fleet.client(fleet.access("dispatcher"), "#") as dispatcher,
        fleet.client(fleet.access("homeassistant"), "#") as homeassistant,
    ):
        async with fleet.client(boat, "#", will=Will("wifimgrd/other/availability", b"offline")) as hub:
            for topic in FOREIGN:
                hub.connection.publish(topic, b"x", retain=True, outcome=codes.append)
            await hub.connection.until_delivered(20)
            assert codes == [NOT_AUTHORIZED] * len(FOREIGN)
            dispatcher.send("wifimgrd/other/command", {"command": "scan"})
            hub.send(f"{HUB}/command", b"own")
            await hub.until(lambda: f"{HUB}/command" in hub.retained)
            assert hub.retained.keys() == {f"{HUB}/command"}
            hub.send(f"{HUB}/availability", b"online")
            for one in (dispatcher, homeassistant):
                await until_retained(one, f"{HUB}/availability")
            hub.connection._socket.shutdown(socket.SHUT_RDWR)  # the broker publishes the will
            await hub.connection.closed
        async with fleet.client(boat, will=None) as hub:
            hub.send(f"{HUB}/availability", b"again")
            for one in (dispatcher, homeassistant):
                await until_retained(one, f"{HUB}/availability", b"again")
                assert one.retained.keys() == {f"{HUB}/availability"}


def field_of(text: str) -> bytes:
    """A string with its length (MQTT 3.1.1, 1.5.3)."""
    data = text.encode()
    return len(data).to_bytes(2) + data


@pytest.mark.parametrize(("password", "code"), [(PASSWORDS["viewer"], 0), ("wrong", 5)])
async def test_a_page_connects_by_websocket_with_a_password(fleet: Fleet, password: str, code: int) -> None:
    user_password_clean = 0xC2
    connect_packet = field_of("MQTT") + bytes([4, user_password_clean, 0, 60])
    connect_packet += field_of("") + field_of("viewer") + field_of(password)
    tls = Tls(fleet.central.file(f"{CERTIFICATES}/authority.pem")).context()
    with network_of(fleet.central):
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"https://{NAME}:{PAGES}/mqtt", protocols=["mqtt"], ssl=tls) as channel,
        ):
            await channel.send_bytes(bytes([0x10, len(connect_packet)]) + connect_packet)
            assert await channel.receive_bytes(timeout=20) == bytes([0x20, 2, 0, code])


# -- a Mosquitto on the vehicle


@pytest.fixture
async def local(fleet: Fleet) -> AsyncIterator[Mosquitto]:
    """The vehicle's broker."""
    for name, text in FILES.items():
        if name.startswith(VEHICLE):
            fleet.vehicle.file(name).write_text(text)
    fleet.vehicle.run("bash", "-euc", next(one.text for one in BLOCKS if one.where == "vehicle"))
    fleet.vehicle.file("/etc/wifimgrd/mqtt/vehicle-password").write_text(VEHICLE_PASSWORDS["boat"])
    local = Mosquitto(fleet.folder / "vehicle", port=1883, host=fleet.vehicle)
    local.folder.mkdir()
    await local.run(DEBIAN)
    yield local
    await local.kill()


@pytest.fixture
async def linked(
    fleet: Fleet, local: Mosquitto, message_bus: MessageBusDaemon, hub: Hub
) -> AsyncIterator[Fleet]:
    """The hub publishes to the vehicle's broker, which passes everything on."""
    assert hub.client.available
    assert local.process is not None
    async with running_bridge(fleet, message_bus, KEYS[1]) as bridge:
        await bridge.until_logged("broker_connected")
        yield fleet


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_after_a_cut_the_newest_state_is_at_the_central_broker(
    linked: Fleet, hub: Hub, is_restarted: bool
) -> None:
    kept, removed = await hub.create(1), await hub.create(2)
    await hub.until(kept, "connected", 20)
    async with linked.client(linked.access("dispatcher"), "#") as seen:
        await seen.until(lambda: f"{HUB}/devices/{removed}" in seen.retained, SLOW_S)
        await seen.until(lambda: seen.retained.get(LINK) == b"1")
    linked.central.cut_off()
    if is_restarted:
        await linked.broker.kill()
    for number in range(300):
        await hub.client.update_device(kept, {"name": f"name {number}"})
    await hub.client.remove_device(removed)
    added = await hub.create(3)
    if is_restarted:
        await linked.broker.run(DEBIAN)
    linked.central.restore()
    async with linked.client(linked.access("dispatcher"), "#") as seen:
        await seen.until(
            lambda: (seen.record(f"{HUB}/devices/{kept}") or {}).get("name") == "name 299", SLOW_S
        )
        await seen.until(lambda: f"{HUB}/devices/{added}" in seen.retained)
        await seen.until(lambda: f"{HUB}/devices/{removed}" not in seen.retained)
        # What was retained before comes after what waited from Mosquitto 2.0.21, and earlier from 2.0.11.
        await until_retained(seen, f"{HUB}/availability", b"online")


async def test_a_command_passes_the_link_and_its_answer_comes_back(linked: Fleet, hub: Hub) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    topic = f"{HUB}/devices/{device}"
    async with linked.people("dispatcher") as dispatcher:
        await until_retained(dispatcher, topic)
        await until_retained(dispatcher, f"{HUB}/availability", b"online")
        answer = await dispatcher.command(f"{topic}/command", DISCONNECT, f"{topic}/result")
        assert (answer["ok"], answer["message"]) == (True, "disconnected")


async def test_a_command_on_the_vehicle_is_carried_out_once(
    linked: Fleet, local: Mosquitto, hub: Hub
) -> None:
    async with linked.people("dispatcher") as dispatcher, linked.on_vehicle("boat") as seen:
        answer = await seen.command(f"{HUB}/command", {"command": "scan"}, f"{HUB}/result")
        assert answer["ok"]
        device = await hub.create(1)
        topic = f"{HUB}/devices/{device}"
        await until_retained(dispatcher, topic)
        await dispatcher.command(f"{topic}/command", DISCONNECT, f"{topic}/result")
        assert len(seen.seen(f"{HUB}/command")) == 1


async def test_on_the_vehicle_nobody_commands_without_a_password(
    linked: Fleet, local: Mosquitto, hub: Hub
) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected", 20)
    codes: list[int] = []
    with pytest.raises(BrokerError, match="not authorized"):
        async with linked.on_vehicle(None):
            pass
    async with linked.on_vehicle("homeassistant") as home:
        home.connection.publish(f"{HUB}/command", b"{}", outcome=codes.append)
        await home.connection.until_delivered(20)
        assert codes == [NOT_AUTHORIZED]
        home.send(f"{HUB}/devices/{device}/command", {"command": "disconnect"})
        await hub.until(device, "disconnected", 20)


async def test_the_password_of_a_camera_is_not_passed_to_the_vehicle(
    linked: Fleet, local: Mosquitto, hub: Hub
) -> None:
    device = await hub.create(2)
    await hub.until(device, "connected", 20)
    async with (
        linked.client(linked.access("dispatcher"), "#") as dispatcher,
        linked.on_vehicle("boat") as seen,
    ):
        dispatcher.send(f"{HUB}/command", {"command": "create", "options": dict(camera(1))})
        await dispatcher.connection.until_delivered(20)
        dispatcher.send(f"{HUB}/devices/{device}/command", {"command": "disconnect"})
        await hub.until(device, "disconnected", 20)
        assert not seen.seen(f"{HUB}/command")


async def test_the_client_id_of_the_link_cannot_be_guessed(linked: Fleet, local: Mosquitto) -> None:
    async with linked.client(linked.access("viewer"), "#") as seen:
        await until_retained(seen, LINK, b"1")
        log = linked.central.file("/var/log/mosquitto/mosquitto.log").read_text()
        [found] = set(re.findall(r" as link-boat-([0-9a-f]{32}) ", log))
        assert found not in repr(seen.messages)
    file = linked.vehicle.file("/etc/mosquitto/conf.d/vehicle.conf")
    assert (file.stat().st_mode & 0o777, file.group()) == (0o640, "mosquitto")


async def test_the_central_broker_shows_that_a_link_is_away(linked: Fleet, local: Mosquitto) -> None:
    async with linked.client(linked.access("viewer"), "#") as seen:
        await until_retained(seen, LINK, b"1")
        await local.kill()
        await until_retained(seen, LINK, b"0")
