"""The journal: fields, identities and explanations, as journalctl finds them."""

from __future__ import annotations

from tests.system.hub import UNIT, Hub
from tests.system.machine import Machine
from wifimgrd.runtime._message_ids import MESSAGES


def identity(event: str, cause: str = "") -> str:
    return MESSAGES[event, cause].identity


def test_a_connection_is_found_by_its_fields(hub: Hub) -> None:
    device = hub.add(1)
    matches = (f"MESSAGE_ID={identity('connected')}", f"WIFIMGRD_DEVICE={device}")
    hub.machine.wait_until(lambda: bool(hub.entries(*matches)), "the connection is in the journal")
    [entry] = hub.entries(*matches)
    assert entry["WIFIMGRD_INTERFACE"] == "wlan0"
    assert entry["WIFIMGRD_OPERATION"] == "connect"
    assert entry["_SYSTEMD_INVOCATION_ID"] == hub.show("InvocationID")
    assert entry["_SYSTEMD_UNIT"] == UNIT
    assert (entry["SYSLOG_IDENTIFIER"], entry["PRIORITY"], entry["_TRANSPORT"]) == (
        "wifimgrd",
        "6",
        "journal",
    )
    assert not [one for one in hub.entries(f"--unit={UNIT}") if "WIFIMGRD_SSID" in one]


def test_a_failure_carries_its_code(hub: Hub) -> None:
    hub.machine.run("wifimgrctl", "add", "--ssid", "SIM-CAM-1", "--password-stdin", stdin="wrong-password\n")
    hub.machine.wait_until(
        lambda: bool(hub.entries("WIFIMGRD_CODE=authentication-failed")), "the failure is in the journal"
    )
    [entry] = hub.entries("WIFIMGRD_CODE=authentication-failed")
    assert entry["MESSAGE_ID"] == identity("connection_failed", "authentication-failed")
    assert entry["PRIORITY"] == "4"


def test_the_catalog_has_an_explanation_of_each_message(machine: Machine) -> None:
    identities = [message.identity for message in MESSAGES.values()]
    output = machine.run("journalctl", "--dump-catalog", *identities).stdout
    assert output.count("Defined-By: wifimgrd") == len(identities)


def test_journalctl_explains_what_to_do(hub: Hub) -> None:
    for number in (1, 2, 3):
        hub.add(number)
    added = hub.machine.run(
        "wifimgrctl", "add", "--ssid", "SIM-CAM-4", "--password-stdin", stdin="camera-pass-4\n", check=False
    )
    assert added.returncode == 1, "its first connection is refused"
    hub.machine.run("journalctl", "--sync")
    match = f"MESSAGE_ID={identity('connection_refused')}"
    output = hub.machine.run("journalctl", "--catalog", "--no-pager", match).stdout
    assert "No interface for a camera" in output
    assert "plug in another adapter" in output
    assert "Device 4 was not connected (no-interface-available)" in output


def test_no_password_is_in_the_journal(hub: Hub) -> None:
    hub.add(1)
    match = f"MESSAGE_ID={identity('connected')}"
    hub.machine.wait_until(lambda: bool(hub.entries(match)), "the connection is in the journal")
    assert "camera-pass" not in hub.machine.run("journalctl", "--output=export", "--no-pager").stdout


def test_run_by_hand_it_writes_to_the_terminal(hub: Hub) -> None:
    hub.machine.run("systemctl", "stop", UNIT)
    done = hub.machine.run("wifimgrd", "--bus", "unix:path=/nonexistent", check=False, user="wifimgrd")
    assert done.returncode == 69
    assert done.stderr.startswith("wifimgrd: cannot connect to the message bus unix:path=/nonexistent")
