"""Recovery steps on USB ports as they go over the wire: the package on an emulated machine with a real
kernel, udev and the unit's sandbox, and the requests to hubs and devices read by usbmon.

The machine is booted once, takes all steps one after the other (usb_program.py), and is gone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.system.emulated_machine import run_in_machine
from tests.system.machine import Layer
from tests.system.usb_machine import USB_MACHINE

pytestmark = pytest.mark.slow

_HERE = Path(__file__).parent
_LIMIT_S = 600
_TO_PORT = {
    "23 03 0004": "SET_FEATURE(PORT_RESET)",
    "23 01 0008": "CLEAR_FEATURE(PORT_POWER)",
    "23 03 0008": "SET_FEATURE(PORT_POWER)",
}
"""Requests to a hub: bmRequestType, bRequest and wValue (USB 2.0, 11.24.2)."""
_CONFIGURE = "00 09 0001 0000"
"""SET_CONFIGURATION, to a device."""

Results = dict[str, Any]


@pytest.fixture(scope="module")
def results(installed: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """What came of the steps."""
    built = subprocess.run([_HERE / "build_kernel"], check=True, stdout=subprocess.PIPE, text=True)
    out, layer = tmp_path_factory.mktemp("usb"), Layer()
    root = layer.mount(installed)
    try:
        for program in ("usb_program.py", "usb_step.py"):
            shutil.copy(_HERE / program, root / "usr" / "local" / "lib")
        kernel = Path(built.stdout.split()[-1])
        said = run_in_machine(USB_MACHINE, root, kernel, out, "/usr/local/lib/usb_program.py", _LIMIT_S)
        written = out / "results.json"
        assert written.exists(), said
        yield json.loads(written.read_text())
    finally:
        layer.unmount()
        layer.close()


def failure(of: Results, step: str) -> str:
    """Why a step has failed; empty if it has not."""
    assert step in of["steps"], "\n".join(of["said"])
    return str(of["steps"][step]["failed"])


def to_port(results: Results, hub: int) -> list[str]:
    """What was sent to the first port of a hub, each as often as it was not repeated at once."""
    sent = [one.split(" ", 1) for one in results["steps"]["requests"]]
    requests = [request for device, request in sent if device == str(results["hubs"][hub])]
    known = [_TO_PORT[one[:-5]] for one in requests if one[:-5] in _TO_PORT and one.endswith("0001")]
    return [one for one, _ in groupby(known)]


def test_udev_gives_the_daemon_the_node_and_the_power_switch_of_an_adapter_and_no_more(
    results: Results,
) -> None:
    own = {"power/control": "wifimgrd", "port/disable": "wifimgrd", "node": "wifimgrd"}
    others = {"authorized": "root", "port/peer/disable": ""}
    assert results["owners"]["1-2.1"] == own | others
    assert set(results["owners"]["1-2"].values()) == {"root"}, "a hub's are not given away"


def test_the_sandbox_lets_the_daemon_command_its_adapters_alone(results: Results) -> None:
    assert failure(results["steps"], "open 1-2") == "PermissionError: Permission denied"


def test_a_reset_resets_the_port_and_configures_the_same_device_again(results: Results) -> None:
    assert failure(results["steps"], "reset 1-1.1") == ""
    assert to_port(results, hub=0) == ["SET_FEATURE(PORT_RESET)"]
    assert results["steps"]["steps"]["reset 1-1.1"]["events"] == ["usb0 gone", "1-1.1 present"]
    before, after = results["numbers"]["1-1.1"]
    assert before == after
    assert results["steps"]["requests"].count(f"{after} {_CONFIGURE}") == 1


def test_power_goes_off_and_on_at_the_hub_and_the_device_is_a_new_one(results: Results) -> None:
    assert failure(results["steps"], "power 1-2.1") == ""
    assert to_port(results, hub=1) == [
        "CLEAR_FEATURE(PORT_POWER)",
        "SET_FEATURE(PORT_POWER)",
        "SET_FEATURE(PORT_RESET)",
    ]
    before, after = results["numbers"]["1-2.1"]
    assert before != after
    assert f"{before} {_CONFIGURE}" not in results["steps"]["requests"]


def test_the_node_after_a_power_cut_is_the_daemons_too_and_resets(results: Results) -> None:
    assert results["owners after"] == results["owners"]["1-2.1"]
    assert failure(results["steps"], "reset 1-2.1") == ""
    number = results["numbers"]["1-2.1"][1]
    configured = results["steps"]["requests"].count(f"{number} {_CONFIGURE}")
    assert configured == 2, "after the power cut, and after the reset"


def test_an_unnamed_port_keeps_its_power(results: Results) -> None:
    assert "not one of `power_ports`" in failure(results["steps"], "power 1-2.2")


def test_a_daemon_that_is_stopped_while_a_port_is_off_switches_it_on(results: Results) -> None:
    assert failure(results["stopped"], "power 1-2.1") == "cancelled"
    assert results["stopped"]["off"] is False


def test_the_next_start_switches_on_what_a_killed_daemon_has_left_off(results: Results) -> None:
    assert results["killed"]["off"] is True
    assert results["off after start"] is False
    assert "1-2.1 present" in results["danger"]["steps"]["power 1-1.1"]["events"]


def test_a_hub_that_does_not_switch_power_loses_the_adapter_and_the_daemon_says_so(results: Results) -> None:
    said = failure(results["danger"], "power 1-1.1")
    assert "no adapter has come back in the USB port 1-1.1 within 5 s" in said
    assert "its hub may not switch" in said
    assert results["present after danger"] == {"1-1.1": False, "1-1.2": True}
