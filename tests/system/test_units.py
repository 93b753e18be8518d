"""The units in a booted system."""

from __future__ import annotations

from tests.system.machine import Machine


def test_boots(machine: Machine) -> None:
    print(
        machine.sh(
            "systemctl status wifimgrd wifimgrd-http.socket wifimgrd-http NetworkManager --no-pager -l || true; journalctl -u wifimgrd --no-pager -n 30; systemctl is-system-running || systemctl --failed"
        )
    )
    assert 0
