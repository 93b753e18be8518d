"""The installed service in a machine, as an administrator and clients meet it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.system.machine import Machine

UNIT = "wifimgrd.service"
NET = "wifimgrd-net.service"
SHIM = "wifimgrd-http.service"
BRIDGE = "wifimgrd-mqtt.service"
STATIONS = "wifimgrd-mavlink.service"
DEVICE = "/org/wifimgrd1/devices/"


@dataclass
class Hub:
    """wifimgrd and wifimgrd-http, as units."""

    machine: Machine

    def reset(self) -> None:
        """Stop all of it and forget state, settings and journal."""
        self.machine.sh(
            f"systemctl stop {UNIT} {SHIM} {NET} wifimgrd-http.socket; systemctl reset-failed; "
            "systemctl unmask --runtime --quiet NetworkManager; "
            "rm -rf /var/lib/wifimgrd/* /etc/wifimgrd/wifimgrd.toml.d/* /etc/systemd/system/wifimgrd*.d; "
            "systemctl daemon-reload; systemctl start wifimgrd-http.socket; "
            "journalctl --rotate --vacuum-time=1s --quiet 2>/dev/null"
        )

    def start(self) -> None:
        """Start the daemon; returns once it says that it is ready."""
        self.machine.run("systemctl", "start", UNIT)

    def configure(self, name: str, text: str) -> None:
        """Write a drop-in of the configuration."""
        self.machine.write(f"/etc/wifimgrd/wifimgrd.toml.d/{name}.toml", text)

    def override(self, text: str, unit: str = UNIT) -> None:
        """Write a drop-in of a unit, the daemon's by default."""
        self.machine.write(f"/etc/systemd/system/{unit}.d/test.conf", text)
        self.machine.run("systemctl", "daemon-reload")

    def show(self, name: str, unit: str = UNIT) -> str:
        """A property of a unit."""
        return self.machine.run("systemctl", "show", "--value", f"--property={name}", unit).stdout.strip()

    def expect_watchdog(self, unit: str) -> None:
        """Expect a unit to send pulses, with a short limit, and to be started anew once it hangs."""
        self.override("[Service]\nWatchdogSec=2\n", unit)
        self.machine.run("systemctl", "restart", unit)
        pid = self.show("MainPID", unit)
        first = self.show("WatchdogTimestampMonotonic", unit)
        self.machine.wait_until(
            lambda: int(self.show("WatchdogTimestampMonotonic", unit)) > int(first), "it sends pulses"
        )
        assert self.show("MainPID", unit) == pid
        self.machine.run("kill", "-STOP", pid)
        self.machine.wait_until(
            lambda: (
                self.show("ActiveState", unit) == "active" and self.show("MainPID", unit) not in (pid, "0")
            ),
            "another process serves",
            30,
        )

    def until_status(self, words: str) -> None:
        """Wait for words in the unit's status, which follows what it reports a moment later."""
        self.machine.wait_until(lambda: words in self.show("StatusText"), f"the status has {words!r}")

    def add(self, number: int) -> int:
        """Register one of the simulated cameras; its first connection starts."""
        done = self.machine.run(
            *("wifimgrctl", "--json", "add", "--ssid", f"SIM-CAM-{number}", "--password-stdin"),
            stdin=f"camera-pass-{number}\n",
        )
        device = int(json.loads(done.stdout)["id"])
        self.until(device, "connected")
        return device

    def property(self, path: str, interface: str, name: str) -> Any:
        """A property on the bus."""
        done = self.machine.run(
            "busctl",
            "--json=short",
            "get-property",
            "org.wifimgrd1",
            path,
            f"org.wifimgrd1.{interface}",
            name,
        )
        return json.loads(done.stdout)["data"]

    def until(self, device: int, state: str) -> None:
        """Wait until a device is in a state."""
        self.machine.wait_until(
            lambda: self.property(f"{DEVICE}{device}", "Device", "State") == state,
            f"device {device} is {state}",
        )

    def journal(self, *matches: str) -> str:
        """What the daemon said, or what fits `matches`."""
        self.machine.run("journalctl", "--sync")
        command = ("journalctl", "--output=cat", "--no-pager", *(matches or (f"--unit={UNIT}",)))
        return self.machine.run(*command, check=False).stdout

    def entries(self, *matches: str) -> list[dict[str, Any]]:
        """The journal's entries that fit, with all their fields."""
        self.machine.run("journalctl", "--sync")
        output = self.machine.run("journalctl", "--output=json", "--no-pager", *matches, check=False).stdout
        return [json.loads(line) for line in output.splitlines()]


def exposure(machine: Machine, unit: str) -> float:
    """How exposed systemd calls an installed unit: 0 is best, 10 worst."""
    output = machine.sh(
        f"cp /lib/systemd/system/{unit} /tmp; systemd-analyze security --offline=true /tmp/{unit}"
    )
    level = re.search(r"Overall exposure level for .*: ([0-9.]+)", output)
    assert level is not None
    return float(level[1])
