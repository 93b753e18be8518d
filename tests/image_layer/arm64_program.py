"""Run as root on the emulated arm64 machine: waits for the end of its first boot, puts a camera on the air,
connects it, and writes down what it saw.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent))

from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import plug_in
from tests.lab.guest.deadline import poll_until

_OUT: Final = Path("/out/results.json")
_URL: Final = "http://127.0.0.1:8080"
_PLATFORM: Final = "/plugin-views/trial_plugin_device_manager/devices/"
_KIB_MB: Final = 1024 / 1e6
_LIMIT_S: Final = 300
"""An emulated machine is slow."""
_UNITS: Final = ("wifimgrd.service", "wifimgrd-http.socket", "wifimgrd-http.service")


def run(*command: str) -> str:
    """What a command says, whatever its status."""
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def asked(path: str) -> Any:
    """The hub's answer; nothing while it does not answer."""
    said = run("curl", "--silent", "--max-time", "60", f"{_URL}{path}")
    try:
        return json.loads(said)
    except json.JSONDecodeError:
        return said


def backend_state() -> str:
    """Of the hub over HTTP, as a monitor reads it."""
    health = asked("/healthz")
    return str(health.get("backend_state", "")) if isinstance(health, Mapping) else ""


def first_boot() -> dict[str, Any]:
    """What the machine is like once all that it starts has been started, and the hub is ready."""
    state = run("systemctl", "is-system-running", "--wait")
    poll_until(lambda: backend_state() == "ready", "a backend that is ready", _LIMIT_S)
    return {
        "architecture": run("dpkg", "--print-architecture"),
        "kernel": run("uname", "-rm"),
        "state": state,
        "failed": run("systemctl", "--failed", "--plain", "--no-legend"),
        "units": {unit: run("systemctl", "is-active", unit) for unit in _UNITS},
        "since_kernel_s": {unit: _active_s(unit) for unit in ("multi-user.target", *_UNITS)},
        "health": asked("/healthz"),
        "uptime_s": _uptime_s(),
    }


def _active_s(unit: str) -> float:
    value = run("systemctl", "show", "--value", "--property=ActiveEnterTimestampMonotonic", unit)
    return int(value) / 1e6


def _uptime_s() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])


def memory() -> dict[str, Any]:
    """In MB (10^6 bytes): of the machine, and of each of the hub's processes."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    sizes = {name: int(rest.split()[0]) * _KIB_MB for name, rest in (line.split(":") for line in lines)}
    processes = {}
    for line in run("ps", "-eo", "rss=,args=").splitlines():
        rss, arguments = line.split(maxsplit=1)
        for word in arguments.split()[:2]:
            if Path(word).name.startswith("wifimgrd"):
                processes[Path(word).name] = int(rss) * _KIB_MB
    return {
        "total": sizes["MemTotal"],
        "not_available": sizes["MemTotal"] - sizes["MemAvailable"],
        "processes": processes,
    }


def connected() -> dict[str, Any]:
    """A camera on hwsim's radios, connected by a command over HTTP as a platform gives it."""
    run("modprobe", "mac80211_hwsim", "radios=0")
    adapter = plug_in("1.1")
    camera = Camera("A")
    camera.start()
    poll_until(lambda: "available" in run("wifimgrctl", "interfaces"), "the adapter at the hub", _LIMIT_S)
    Path("/run/password").write_text(camera.password)
    network = ("--ssid", camera.ssid.decode(), "--password-file", "/run/password")
    said = [run("wifimgrctl", "add", "--no-connect", *network)]
    poll_until(lambda: is_connected(said), "a connected camera", _LIMIT_S)
    return {
        "adapter": adapter.interface,
        "said": said,
        "page_of_camera": run("curl", "--silent", "--max-time", "60", f"{_URL}/cameras/1/"),
    }


def is_connected(said: list[str]) -> bool:
    """Whether a command to connect the camera succeeds. The first may not: it starts the helper, which an
    emulated machine on a busy host may take longer for than its watchdog waits."""
    began_s = time.monotonic()
    done = subprocess.run(("wifimgrctl", "connect", "CAM_A"), check=False, capture_output=True, text=True)
    said.append(f"{done.stdout}{done.stderr}after {time.monotonic() - began_s:.1f} s")
    return done.returncode == 0


def main() -> None:
    """Write what is known so far, after each step."""
    results: dict[str, Any] = {"boot": first_boot()}
    results["platform_answer"] = run("curl", "--silent", f"{_URL}{_PLATFORM}")
    results["status"] = run("wifimgrctl", "status")
    results["memory"] = memory()
    _OUT.write_text(json.dumps(results))
    results["camera"] = connected()
    results["memory_connected"] = memory()
    results["journal"] = run("journalctl", "--boot", "--priority=warning", "--no-pager", "--output=cat")
    _OUT.write_text(json.dumps(results))


main()
