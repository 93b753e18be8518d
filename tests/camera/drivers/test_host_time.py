"""This host's clock and time zone, as cameras are given them."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import subprocess
from wifimgrd.camera.drivers.protocol import HostTime
now_us = 1_782_864_000_000_000  # in July
before = HostTime.at(now_us).offset_s
subprocess.run(["mount", "--bind", "/usr/share/zoneinfo/Asia/Tokyo", "/etc/localtime"], check=True)
print(before, HostTime.at(now_us).offset_s)
"""


def test_a_clock_is_set_in_the_time_zone_of_now() -> None:
    """As root: /etc/localtime of its own, which systemd's timedated replaces when the zone is set."""
    shell = 'mount --bind /usr/share/zoneinfo/Etc/UTC /etc/localtime && exec "$0" -c "$1"'
    command = ["env", "-u", "TZ", "unshare", "--mount", "sh", "-c", shell, sys.executable, _SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.split() == ["0", "32400"], done.stderr
