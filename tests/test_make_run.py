"""`make run` as a newcomer types it: one line when all serve, and nothing left behind. After the set-up it is
`tools/run_hub.py` with the settings in its environment, as which most tests run it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from tools import run_hub

CHECKOUT = Path(__file__).parents[1]
READY = re.compile(r"ready (http://127\.0\.0\.1:\d+/) bus (unix:path=(/\S+)/bus\S*)\n")
TIMEOUT_S = 60
MAKE = ("make", "run")
AFTER_SET_UP = (sys.executable, "tools/run_hub.py")
NOT_BELOW_MAKE = {
    name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
}
"""A make below another one says more, and the suite itself runs below one."""


class Run:
    """A `make run` that serves."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        line = process.stdout.readline()
        found = READY.fullmatch(line)
        assert found, f"not the line of the contract: {line!r}"
        self.url, self.bus, self.scratch = found[1], found[2], Path(found[3])

    def get(self, path: str) -> object:
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def post(self, path: str, body: object) -> object:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def processes(self) -> list[int]:
        """Who has the scratch folder in its command line: bus, daemon and shim."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if str(self.scratch).encode() in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
            except OSError:
                continue
        return found

    def end(self, how: signal.Signals, *, group: bool = False) -> None:
        if group:
            os.killpg(self.process.pid, how)
        else:
            self.process.send_signal(how)
        self.process.wait(TIMEOUT_S)


@pytest.fixture
def alone() -> Iterator[str]:
    """A folder for temporary files where no other hub of this checkout runs."""
    with tempfile.TemporaryDirectory(prefix="alone-", dir="/tmp") as folder:
        yield folder


@contextmanager
def running(
    log: IO[str] | int = subprocess.DEVNULL, program: tuple[str, ...] = AFTER_SET_UP, **settings: str
) -> Iterator[Run]:
    with subprocess.Popen(
        program,
        cwd=CHECKOUT,
        env=NOT_BELOW_MAKE | {"PORT": "0", **settings},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield Run(process)
        finally:
            if process.poll() is None:
                process.terminate()


@pytest.mark.parametrize(
    ("how", "group"), [(signal.SIGTERM, False), (signal.SIGINT, True)], ids=["SIGTERM", "Ctrl-C"]
)
def test_it_says_when_it_is_ready_and_leaves_nothing_behind(how: signal.Signals, group: bool) -> None:
    with running(program=(*MAKE, "PORT=0")) as run:
        assert len(run.processes()) == 3
        assert run.scratch.is_dir()
        run.get("healthz")
        run.end(how, group=group)
        assert run.processes() == []
        assert not run.scratch.exists()


def test_after_a_kill_the_message_bus_has_the_same_address_and_what_is_left_is_not_used(alone: str) -> None:
    with running(TMPDIR=alone) as before:
        before.end(signal.SIGTERM)
    (before.scratch / "state").mkdir(parents=True)
    (before.scratch / "state" / "wifimgrd.sqlite").write_text("nonsense")
    (before.scratch / "bus").touch()
    with running(TMPDIR=alone) as after:
        assert after.scratch == before.scratch
        assert after.bus == before.bus == f"unix:path={after.scratch}/bus"
        assert after.get("plugin-views/platform_plugin_device_manager/devices") == []


def test_a_second_one_says_that_its_message_bus_is_another_one(alone: str, tmp_path: Path) -> None:
    with running(TMPDIR=alone) as first, (tmp_path / "log").open("w") as log:
        with running(log=log, TMPDIR=alone) as second:
            assert second.bus != first.bus
            assert second.url != first.url
        first.get("healthz")
    assert "another hub of this checkout runs already" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("place", ["a folder", 100 * "x"])
def test_where_a_socket_cannot_be_the_message_bus_is_in_tmp(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / place
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with run_hub._scratch_folder() as scratch:
        assert scratch.parent == Path("/tmp")
        assert scratch.is_dir()


def test_a_state_folder_keeps_devices_and_links(tmp_path: Path) -> None:
    devices = "plugin-views/platform_plugin_device_manager/devices/"
    settings = {"ssid": "SIM-CAM-1", "password": "camera-pass-1"}
    body = {"codename": "insta360-x3", "connection_type": "wifi", "connection_settings": settings}
    with running(STATE=str(tmp_path)) as run:
        run.post(devices, body)
        run.get(devices + "wifi/connect?device_id=1&wait=10")
        before = kept(run.get(devices))
        run.end(signal.SIGTERM)
    assert before[0]["connected"]
    with running(STATE=str(tmp_path)) as run:
        assert kept(run.get(devices)) == before


def kept(devices: Any) -> list[dict[str, Any]]:
    """Devices without what is measured of their links and read of their cameras again after a restart."""
    again = ("signal_strength", "tx_bitrate", "rx_bitrate", "camera")
    return [{name: value for name, value in device.items() if name not in again} for device in devices]


def test_a_scenario_and_a_configuration_of_ones_own_are_used(tmp_path: Path) -> None:
    scenario, configuration = tmp_path / "scenario.toml", tmp_path / "wifimgrd.toml"
    scenario.write_text("adapter_count = 5\n")
    configuration.write_text('[platform]\nname = "hub"\n')
    settings = (f"SCENARIO={scenario}", f"CONFIG={configuration}")
    with running(program=(*MAKE, "PORT=0", *settings)) as run:
        answer = run.get("plugin-views/hub_plugin_device_manager/devices/wifi/interfaces")
        assert answer["total_interfaces"] == 5  # type: ignore[index]


def test_with_a_broker_the_bridge_runs_too(tmp_path: Path) -> None:
    configuration = tmp_path / "wifimgrd.toml"
    configuration.write_text('[mqtt]\nbroker = "mqtt://127.0.0.1:1"\n')
    with running(CONFIG=str(configuration)) as run:
        assert len(run.processes()) == 4


def test_with_ground_stations_their_bridge_runs_too(tmp_path: Path) -> None:
    configuration = tmp_path / "wifimgrd.toml"
    configuration.write_text('[mavlink]\nconnection = "udpout:127.0.0.1:9"\n')
    with running(CONFIG=str(configuration)) as run:
        assert len(run.processes()) == 4


def test_a_program_that_cannot_start_is_started_once(tmp_path: Path) -> None:
    (tmp_path / "paho").mkdir()
    (tmp_path / "paho" / "__init__.py").write_text("raise ImportError('broken')\n")
    configuration = tmp_path / "wifimgrd.toml"
    configuration.write_text('[mqtt]\nbroker = "mqtt://127.0.0.1:1"\n')
    done = run_that_fails(CONFIG=str(configuration), PYTHONPATH=str(tmp_path))
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.count("wifimgrd-mqtt ended with status 1") == 1
    assert "run: wifimgrd-mqtt cannot run, as it says above" in done.stderr


def test_a_missing_mqtt_library_is_named(tmp_path: Path) -> None:
    (tmp_path / "paho").mkdir()
    (tmp_path / "paho" / "__init__.py").touch()
    configuration = tmp_path / "wifimgrd.toml"
    configuration.write_text('[mqtt]\nbroker = "mqtt://127.0.0.1:1"\n')
    done = run_that_fails(CONFIG=str(configuration), PYTHONPATH=str(tmp_path))
    assert done.returncode != 0
    assert "wifimgrd-mqtt: the package python3-paho-mqtt is not installed" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_in_use_is_said_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_that_fails(PORT=str(port))
    assert done.returncode != 0
    assert f"run: port {port} cannot be used (Address already in use)" in done.stderr
    assert "PORT=0" in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("SCENARIO", "/nope.toml", "wifimgrd: /nope.toml: cannot be read: No such file or directory\n"),
        ("STATE", "/proc/x", "run: STATE=/proc/x cannot be created: No such file or directory\n"),
        ("WATCHDOG", "soon", "run: WATCHDOG=soon: expected seconds, or 0 for none\n"),
        ("BACKEND", "iwd", "run: BACKEND is simulated, networkmanager or wpa_supplicant, not iwd\n"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_once(name: str, value: str, reason: str) -> None:
    done = run_that_fails(**{name: value})
    assert done.returncode != 0
    assert reason in done.stderr.splitlines(keepends=True)


def daemon_of(run: Run) -> int:
    """The process id of the daemon."""
    for pid in run.processes():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if any(word.endswith(b"/wifimgrd") for word in words):
            return pid
    raise AssertionError("no daemon runs")


@pytest.mark.slow
def test_a_frozen_daemon_is_ended_and_started_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as opened, running(log=opened, WATCHDOG="6") as run:
        frozen = daemon_of(run)
        os.kill(frozen, signal.SIGSTOP)
        until_said(log, "wifimgrd hangs: no sign of life for 6 s; ending it")
        until_said(log, "wifimgrd ended with status -6")
        until_said(log, "wifimgrd: .* started .*(.|\n)* started ")
        assert daemon_of(run) != frozen
        run.end(signal.SIGTERM)
    assert "Fatal Python error: Aborted" in log.read_text(), "where it hung"


def until_said(log: Path, words: str) -> None:
    """Wait until the log has words, a regular expression."""
    deadline = time.monotonic() + TIMEOUT_S
    while not re.search(words, log.read_text()):
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)  # a file notifies nobody


def run_that_fails(**settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        AFTER_SET_UP,
        cwd=CHECKOUT,
        env=NOT_BELOW_MAKE | {"PORT": "0", **settings},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.parametrize("port", ["99999", "-1", "http"])
def test_a_port_that_is_none_is_said_to_be_none(port: str) -> None:
    done = run_that_fails(PORT=port)
    assert done.returncode != 0
    assert f"run: PORT={port}: expected a port from 0 (any free one) to 65535" in done.stderr
    assert done.stdout == ""


def test_what_cannot_start_ends_with_a_status_and_a_reason(tmp_path: Path) -> None:
    configuration = tmp_path / "wifimgrd.toml"
    configuration.write_text("nonsense = 1\n")
    done = subprocess.run(
        [*MAKE, "PORT=0", f"CONFIG={configuration}"],
        cwd=CHECKOUT,
        env=NOT_BELOW_MAKE,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode != 0
    assert f"{configuration}: nonsense: unknown key" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
