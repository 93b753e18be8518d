"""Links to the broker that are cut or stall without an end of the connection, and clocks that are wrong."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.ceilings import most_mb
from tests.mqtt.certificates import Authority
from tests.mqtt.conftest import HUB, Start
from tests.mqtt.mosquitto import Mosquitto, broker_of_short_keep_alive
from tests.mqtt.observer import Observer, observer
from tests.mqtt.private_host import PrivateHost, private_host
from tests.processes import Hub

NOTICED_S = 60.0
"""Two keep-alive intervals, with what a busy machine adds."""
AVAILABILITY = f"{HUB}/availability"
LIBFAKETIME = "*/faketime/libfaketime.so.1"
"""Below /usr/lib."""


@pytest.fixture
def ends() -> Iterator[tuple[PrivateHost, PrivateHost]]:
    """The broker's host and the bridge's, with a cable between them."""
    with private_host() as theirs, private_host() as ours:
        theirs.connect(ours, "192.0.2.1", "192.0.2.2")
        yield theirs, ours


@pytest.mark.slow
async def test_after_a_cut_without_an_end_of_the_connection_the_newest_state_is_there(
    hub: Hub, ends: tuple[PrivateHost, PrivateHost], bridges: Start, tmp_path: Path
) -> None:
    theirs, ours = ends
    broker = Mosquitto(tmp_path / "far", host=theirs)
    await broker.start()
    kept, removed = await hub.create(1), await hub.create(2)
    await hub.until(kept, "connected", 20)
    await hub.until(removed, "connected", 20)
    async with (
        broker_of_short_keep_alive(broker, "192.0.2.1") as port,
        observer(broker.port, host=theirs) as seen,
    ):
        bridge = bridges("insecure_plaintext = true", f"mqtt://192.0.2.1:{port}")
        bridge.host = ours
        await bridge.start()
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == b"online")
        theirs.cut_off()
        for number in range(300):
            await hub.client.update_device(kept, {"name": f"name {number}"})
        await hub.client.remove_device(removed)
        line = await bridge.until_logged("broker_unavailable", NOTICED_S)
        assert "it did not answer in time" in line
        await seen.until(lambda: seen.retained[AVAILABILITY] == b"offline", NOTICED_S)
        assert bridge.rss_mb <= most_mb("wifimgrd-mqtt")
        theirs.restore()
        topic = f"{HUB}/devices/{kept}"
        await seen.until(lambda: seen.record(topic)["name"] == "name 299", NOTICED_S)
        await seen.until(lambda: f"{HUB}/devices/{removed}" not in seen.retained)
        await seen.until(lambda: seen.retained[AVAILABILITY] == b"online")
        names = [json.loads(one.payload)["name"] for one in seen.seen(topic)]
        assert len(names) < 100, "older records were left out"
    await broker.kill()


@pytest.mark.slow
async def test_a_broker_that_stands_still_is_left_and_found_again(
    hub: Hub, broker: Mosquitto, bridges: Start
) -> None:
    async with broker_of_short_keep_alive(broker) as port:
        bridge = bridges(address=f"mqtt://127.0.0.1:{port}")
        bridge.is_cold = True
        await bridge.start()
        device = await hub.create(1)
        async with observer(broker.port) as seen:
            await seen.until(lambda: seen.retained.get(AVAILABILITY) == b"online")
            assert broker.process is not None
            broker.process.send_signal(signal.SIGSTOP)
            for number in range(300):
                await hub.client.update_device(device, {"name": f"name {number}"})
            await bridge.until_logged("it did not answer in time", NOTICED_S)
            assert bridge.rss_mb <= most_mb("wifimgrd-mqtt")
            broker.process.send_signal(signal.SIGCONT)
        async with observer(broker.port) as seen:
            topic = f"{HUB}/devices/{device}"
            await seen.until(lambda: (seen.record(topic) or {}).get("name") == "name 299", NOTICED_S)
            await seen.until(lambda: seen.retained[AVAILABILITY] == b"online", NOTICED_S)


# -- clocks


class Clock:
    """The wall clock of a process; its monotonic clock is this machine's."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.environment = {
            "LD_PRELOAD": str(next(Path("/usr/lib").glob(LIBFAKETIME))),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
        self.set("+0")

    def set(self, offset: str) -> None:
        """By how much it is wrong, such as `-10y`."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{offset}\n")
        new.replace(self._file)


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


async def test_with_a_clock_before_the_certificate_the_log_says_so_and_it_connects_once_it_is_set(
    broker: Mosquitto, bridges: Start, clock: Clock, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "certificates", "authority")
    certificate, key = authority.sign("broker")
    await broker.restart(f"certfile {certificate}", f"keyfile {key}")
    clock.set("-10y")
    bridge = bridges(f'ca_file = "{authority.file}"', f"mqtts://127.0.0.1:{broker.port}")
    await bridge.start(**clock.environment)
    line = await bridge.until_logged("broker_unavailable")
    assert "is not valid yet: is the clock of this host right?" in line
    clock.set("+0")
    await bridge.until_logged("broker_connected")


@pytest.mark.slow
async def test_pings_are_sent_at_the_brokers_interval_whatever_the_clock_shows(
    hub: Hub, broker: Mosquitto, bridges: Start, clock: Clock
) -> None:
    await broker.restart("log_type all")
    device = await hub.create(1)
    async with broker_of_short_keep_alive(broker) as port, observer(broker.port) as seen:
        bridge = bridges(address=f"mqtt://127.0.0.1:{port}")
        await bridge.start(**clock.environment)
        await seen.until(lambda: seen.retained.get(AVAILABILITY) == b"online")
        for years in (10, -10):
            clock.set(f"{years:+}y")
            await hub.client.update_device(device, {"name": f"after {years} years"})
            await until_an_event_of(seen, datetime.now(UTC).year + years)
        await broker.until_logged("Received PINGREQ from wifimgrd-boat", 2, NOTICED_S)
    assert bridge.log.read_text().count("broker_connected") == 1


async def test_a_clock_that_jumps_does_not_delay_the_next_attempt(
    broker: Mosquitto, bridges: Start, clock: Clock
) -> None:
    await broker.kill()
    bridge = bridges()
    await bridge.start(**clock.environment)
    await bridge.until_logged("broker_unavailable")
    clock.set("-10y")
    await broker.start()
    await bridge.until_logged("broker_connected")


async def until_an_event_of(seen: Observer, year: int) -> None:
    await seen.until(
        lambda: any(json.loads(one.payload)["time"][:4] == str(year) for one in seen.seen(f"{HUB}/events"))
    )
