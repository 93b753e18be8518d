"""What stops a start: a clear line on stderr and in the journal, a status of its own, nothing touched."""

from __future__ import annotations

import pytest

from tests.system.hub import UNIT, Hub
from wifimgrd.runtime._message_ids import MESSAGES


def refused_by_unit(hub: Hub) -> tuple[str, str]:
    """Start the unit in vain; its exit status, and what the journal's entry says."""
    assert hub.machine.run("systemctl", "start", UNIT, check=False).returncode != 0
    status = hub.show("ExecMainStatus")
    refusals = [MESSAGES[event, ""].identity for event in ("start_refused", "store_refused")]
    entries = [one for one in hub.entries(f"--unit={UNIT}") if one.get("MESSAGE_ID") in refusals]
    return status, str(entries[-1]["MESSAGE"])


@pytest.fixture
def stopped(hub: Hub) -> Hub:
    hub.machine.run("systemctl", "stop", UNIT)
    return hub


def test_a_broken_configuration(stopped: Hub) -> None:
    stopped.configure("broken", "[connect]\ntimeout_s = 'soon'\n")
    status, said = refused_by_unit(stopped)
    assert status == "78"
    assert "/etc/wifimgrd/wifimgrd.toml.d/broken.toml: connect.timeout_s: expected" in said
    assert stopped.show("ActiveState") == "failed", "a person has to mend it: no restart"
    stopped.configure("broken", "")
    stopped.machine.sh(f"systemctl reset-failed {UNIT}; systemctl start {UNIT}")


def test_a_state_of_a_newer_version_is_left_as_it_is(stopped: Hub) -> None:
    stopped.machine.sh(
        "python3 -c \"import sqlite3; c = sqlite3.connect('/var/lib/wifimgrd/wifimgrd.db'); "
        "c.execute('PRAGMA user_version = 99'); c.close()\"; "
        "sha256sum /var/lib/wifimgrd/wifimgrd.db >/tmp/before"
    )
    status, said = refused_by_unit(stopped)
    assert status == "65"
    assert "a newer version of wifimgrd wrote the file (schema 99" in said
    stopped.machine.run("sha256sum", "--check", "/tmp/before")


def test_a_damaged_state(stopped: Hub) -> None:
    stopped.machine.sh("rm -f /var/lib/wifimgrd/wifimgrd.db.backup")
    stopped.machine.sh("dd if=/dev/urandom of=/var/lib/wifimgrd/wifimgrd.db bs=4k count=2 2>/dev/null")
    status, said = refused_by_unit(stopped)
    assert status == "65"
    assert "not a database" in said


def test_an_unreadable_state_directory(stopped: Hub) -> None:
    machine = stopped.machine
    machine.sh("install -d -o root -m 0700 /srv/state")
    done = machine.run(
        "env", "STATE_DIRECTORY=/srv/state", "wifimgrd", "--bus", "system", check=False, user="wifimgrd"
    )
    assert done.returncode == 73
    assert done.stderr == "wifimgrd: the state directory /srv/state belongs to user 0, not to user " + (
        machine.run("id", "-u", "wifimgrd").stdout.strip() + "\n"
    )
    assert machine.sh("ls -A /srv/state") == ""


def test_somebody_elses_state_directory_is_not_taken_over_by_root(stopped: Hub) -> None:
    before = stopped.machine.sh("ls -lA --time-style=full-iso /var/lib/wifimgrd")
    bus = "unix:path=/tmp/private-bus"
    stopped.machine.sh(
        f"dbus-daemon --session --fork --nopidfile --address={bus}; "
        "cp /etc/wifimgrd/wifimgrd.toml /tmp/by-hand.toml"
    )
    done = stopped.machine.run("wifimgrd", "--bus", bus, "--config", "/tmp/by-hand.toml", check=False)
    assert done.returncode == 73
    assert "the state directory /var/lib/wifimgrd belongs to user" in done.stderr
    assert stopped.machine.sh("ls -lA --time-style=full-iso /var/lib/wifimgrd") == before


def test_a_second_instance(hub: Hub) -> None:
    pid = hub.show("MainPID")
    done = hub.machine.run("wifimgrd", check=False, user="wifimgrd")
    assert done.returncode == 75
    assert done.stderr == "wifimgrd: org.wifimgrd1 is already owned on this message bus\n"
    assert (hub.show("ActiveState"), hub.show("MainPID")) == ("active", pid)


def test_a_missing_bus_is_waited_for_with_restarts(stopped: Hub) -> None:
    stopped.override("[Service]\nExecStart=\nExecStart=wifimgrd --bus unix:path=/nonexistent\nRestartSec=5\n")
    status, said = refused_by_unit(stopped)
    assert status == "69"
    assert "cannot connect to the message bus unix:path=/nonexistent" in said
    stopped.machine.wait_until(lambda: int(stopped.show("NRestarts")) >= 1, "it is started again")
