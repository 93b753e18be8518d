"""The MQTT bridge as a package and a unit, at a broker of Debian's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.system.conftest import APT_INSTALL
from tests.system.hub import BRIDGE, Hub, exposure
from tests.system.machine import Machine

pytestmark = pytest.mark.slow

ON_THE_MACHINE = '[mqtt]\nbroker = "mqtt://127.0.0.1"\nhub = "boat"\ncommands = true\n'
CREATE = {
    "command": "create",
    "options": {"codename": "insta360-x3", "connection_type": "wifi", "ssid": "X3 AB12.OSC", "password": ""},
}


def read(machine: Machine, topic: str) -> str:
    """The next message at a topic, or the one that is retained."""
    return machine.run("mosquitto_sub", "-t", f"wifimgrd/boat/{topic}", "-C", "1", "-W", "30").stdout.strip()


@pytest.fixture(scope="module")
def with_broker(machine: Machine) -> Machine:
    """Mosquitto runs, and the package is installed."""
    machine.sh(f"{APT_INSTALL} /host/wifimgrd-mqtt_*.deb mosquitto mosquitto-clients")
    return machine


@pytest.fixture
def bridged(with_broker: Machine, hub: Hub) -> Iterator[Hub]:
    """The hub is shown at the broker."""
    hub.configure("mqtt", ON_THE_MACHINE)
    hub.machine.run("systemctl", "restart", BRIDGE)
    yield hub
    hub.machine.run("systemctl", "stop", BRIDGE)


def test_without_a_broker_in_the_configuration_it_ends_without_an_error(
    with_broker: Machine, hub: Hub
) -> None:
    hub.machine.run("systemctl", "restart", BRIDGE)
    hub.machine.wait_until(lambda: hub.show("ActiveState", BRIDGE) == "inactive", "it has ended")
    assert hub.show("Result", BRIDGE) == "success"


def test_its_sandbox_is_as_tight_as_promised(bridged: Hub) -> None:
    assert exposure(bridged.machine, BRIDGE) <= 1.2


def test_it_runs_as_its_own_user_and_publishes_the_hub(bridged: Hub) -> None:
    machine = bridged.machine
    process = machine.run("cat", f"/proc/{bridged.show('MainPID', BRIDGE)}/status").stdout
    assert f"Uid:\t{machine.run('id', '-u', 'wifimgrd-mqtt').stdout.strip()}\t" in process
    assert re.search(r"^CapEff:\t0{16}$", process, re.MULTILINE)
    machine.wait_until(lambda: read(machine, "availability") == "online", "it is online")
    assert json.loads(read(machine, "hub"))["backend"] == "simulated"
    machine.run("systemctl", "stop", BRIDGE)
    assert read(machine, "availability") == "offline"


def test_polkit_allows_it_to_register_a_camera(bridged: Hub) -> None:
    machine = bridged.machine
    machine.wait_until(lambda: read(machine, "availability") == "online", "it is online")
    topic = "wifimgrd/boat/command"
    answered = machine.run(
        *("mosquitto_rr", "-V", "mqttv5", "-t", topic, "-e", "wifimgrd/boat/response/test"),
        *("-m", json.dumps(CREATE), "-W", "30"),
    )
    assert json.loads(answered.stdout)["message"] == "created"
    record = json.loads(read(machine, "devices/1"))
    assert (record["id"], record["connection_settings"]["ssid"]) == (1, "X3 AB12.OSC")


def test_a_hung_bridge_is_killed_and_comes_back(bridged: Hub) -> None:
    bridged.expect_watchdog(BRIDGE)
    bridged.machine.wait_until(lambda: read(bridged.machine, "availability") == "online", "it is online")
