"""Run as root on the emulated USB machine: has recovery steps taken as the daemon takes them, in its unit's
sandbox, and writes down what came of each, and what was sent to hubs and devices meanwhile, as the kernel's
usbmon shows it.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_OUT = Path("/out/results.json")
_DEVICES = Path("/sys/bus/usb/devices")
_STAND_IN = Path("/run/stand-in")
_STEPS = Path("/run/steps")
_PLAIN, _SWITCHING = "1-1.1", "1-2.1"
"""An adapter in the hub that does not switch power, and one in the hub that does."""
_LIMIT_S = 300
"""An emulated machine is slow, on a busy host many times over."""
_SUBMITTED = re.compile(r"\S+ \d+ S Co:\d:(\d+):0 s (\S+ \S+ \S+ \S+) ")
"""https://docs.kernel.org/usb/usbmon.html"""


def run(*command: str) -> str:
    """What a command says."""
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for what nothing here reports."""
    end_s = time.monotonic() + _LIMIT_S
    while not holds():
        assert time.monotonic() < end_s, f"waited in vain until {what}"
        time.sleep(0.05)


class Requests:
    """The control requests on the first bus: the number of the device, and bmRequestType, bRequest, wValue
    and wIndex in hexadecimal."""

    def __init__(self) -> None:
        self._sent: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with Path("/sys/kernel/debug/usb/usbmon/1u").open() as lines:
            for line in lines:
                if found := _SUBMITTED.match(line):
                    self._sent.append(f"{int(found[1])} {found[2]}")

    def taken(self) -> list[str]:
        """Those since the last call."""
        taken, self._sent = self._sent, []
        return taken


def number(port: str) -> int:
    """The number of the device in a port; 0 if there is none."""
    file = _DEVICES / port / "devnum"
    return int(file.read_text()) if file.exists() else 0


def is_off(port: str) -> bool:
    """Whether a port has no power."""
    hub, _, place = port.rpartition(".")
    return (_DEVICES / f"{hub}:1.0" / f"{hub}-port{place}" / "disable").read_text() == "1\n"


def owners(port: str) -> dict[str, str]:
    """Who owns what is there of a device."""
    files = ("power/control", "port/disable", "port/peer/disable", "authorized")
    paths = {name: f"{_DEVICES}/{port}/{name}" for name in files} | {
        "node": f"/dev/bus/usb/001/{number(port):03}"
    }
    return {name: run("stat", "--dereference", "--format=%U", path) for name, path in paths.items()}


def prepare() -> None:
    """Show the network adapters as Wi-Fi, to udev and to the product, and make a unit of its steps."""
    rules = Path("/lib/udev/rules.d/70-wifimgrd-usb-wlan.rules")
    text = rules.read_text()
    assert text.count('ENV{DEVTYPE}!="wlan"') == 1
    Path("/etc/udev/rules.d", rules.name).write_text(text.replace('ENV{DEVTYPE}!="wlan"', 'KERNEL!="usb*"'))
    for name in (f"usb{number}" for number in range(8)):
        interface = _STAND_IN / "class" / "net" / name
        (interface / "phy80211").mkdir(parents=True)
        for file in ("device", "ifindex"):
            (interface / file).symlink_to(f"/sys/class/net/{name}/{file}")
    (_STAND_IN / "bus").symlink_to("/sys/bus")
    unit = Path("/lib/systemd/system/wifimgrd.service").read_text()
    unit = re.sub(r"(?m)^(Restart|WatchdogSec|BusName|ExecReload|Requires|Wants|After).*\n", "", unit)
    unit = re.sub(r"(?m)^Type=.*", f"Type=exec\nEnvironmentFile={_STEPS}", unit)
    unit = re.sub(r"(?m)^ExecStart=.*", "ExecStart=/usr/bin/python3 /usr/local/lib/usb_step.py", unit)
    Path("/etc/systemd/system/steps.service").write_text(unit)
    run("systemctl", "daemon-reload")
    run("udevadm", "control", "--reload")
    run("udevadm", "trigger", "--action=change", "--subsystem-match=net")
    run("udevadm", "settle")


def begin(steps: str, off_s: float, return_s: float) -> None:
    """Begin to take steps in the sandbox."""
    _STEPS.write_text(f'STEPS="{steps}"\nNAMED="{_PLAIN} {_SWITCHING}"\nOFF_S={off_s}\nRETURN_S={return_s}\n')
    run("systemctl", "start", "steps.service")


def end() -> dict[str, Any]:
    """Wait until they are taken, and return what came of them."""
    until(
        lambda: run("systemctl", "is-active", "steps.service") in ("inactive", "failed"),
        "the steps are taken",
    )
    run("journalctl", "--sync")
    said = run("journalctl", "--output=cat", "_SYSTEMD_UNIT=steps.service").splitlines()
    run("journalctl", "--rotate", "--vacuum-time=1s")
    run("udevadm", "settle")
    found = [json.loads(line) for line in said if line.startswith('{"step"')]
    return {"said": said, "steps": {one["step"]: one for one in found}}


def cut(signal: str) -> dict[str, Any]:
    """Switch a port off for long, and end the process meanwhile."""
    begin(f"power {_SWITCHING}", off_s=600, return_s=90)
    until(lambda: is_off(_SWITCHING), "the port is off")
    run("systemctl", "kill", f"--signal={signal}", "steps.service")
    return {**end(), "off": is_off(_SWITCHING)}


def main() -> None:
    """All of it."""
    prepare()
    results: dict[str, Any] = {"hubs": [number("1-1"), number("1-2")]}
    results["owners"] = {port: owners(port) for port in (_SWITCHING, "1-2")}
    adapters = (_PLAIN, _SWITCHING)
    before = [number(port) for port in adapters]
    requests = Requests()
    begin(f"open 1-2,reset {_PLAIN},power 1-2.2,power {_SWITCHING},reset {_SWITCHING}", off_s=1, return_s=90)
    results["steps"] = {**end(), "requests": requests.taken()}
    after = [number(port) for port in adapters]
    results["numbers"] = dict(zip(adapters, zip(before, after, strict=True), strict=True))
    results["owners after"] = owners(_SWITCHING)
    results["stopped"] = cut("TERM")
    results["killed"] = cut("KILL")
    # The next start switches on. The hub that does not switch comes at the end, since that adapter is lost.
    begin(f"power {_PLAIN}", off_s=1, return_s=5)
    results["danger"] = end()
    until(lambda: number(_SWITCHING) > 0, "the port has power")
    results["off after start"] = is_off(_SWITCHING)
    results["present after danger"] = {port: number(port) > 0 for port in (_PLAIN, "1-1.2")}
    _OUT.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
