"""What the product's processes run on, as in its package: Debian's interpreter, which looks in no environment
and for no editable checkout; and a line that says so beside each table."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

_CHECKOUT: Final = Path(__file__).resolve().parents[1]
_PACKAGES: Final = (
    Path(sys.executable).parents[1] / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
)
_DEBIANS: Final = "/usr/bin/python3"
_MODULES: Final = {
    "wifimgrd": "wifimgrd.daemon",
    "wifimgrd-net": "wifimgrd.helper",
    "wifimgrd-camera": "wifimgrd.camera",
    "wifimgrd-http": "wifimgrd.http",
    "wifimgrd-mqtt": "wifimgrd.mqtt",
    "wifimgrd-mavlink": "wifimgrd.mavlink",
}
_DESCRIBE: Final = """
import platform, sys, sysconfig, time
options = sysconfig.get_config_var("CONFIG_ARGS") or ""
named = [word for flag, word in (("--enable-optimizations", "PGO"), ("--with-lto", "LTO")) if flag in options]
def turns():
    count = 0
    for number in range(1_000_000):
        count += number & 3
def took():
    began = time.process_time()
    turns()
    return time.process_time() - began
print(
    platform.python_version(), sys.executable, platform.python_compiler(),
    "its sysconfig names " + (" and ".join(named) or "neither PGO nor LTO"),
    f"a million turns of a plain loop take {1000 * min(took() for _ in range(5)):.0f} ms",
    sep=", ",
)
"""
"""Debian's is built with PGO and LTO, and names neither: hence the loop."""


def _chosen() -> str:
    """Debian's interpreter where it is the same version as this one, whose packages are used with it."""
    wanted = "{}.{}".format(*sys.version_info[:2])
    show = "import sys; print('{}.{}'.format(*sys.version_info[:2]))"
    try:
        found = subprocess.run((_DEBIANS, "-c", show), stdout=subprocess.PIPE, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return sys.executable
    return _DEBIANS if found.strip() == wanted else sys.executable


PYTHON: Final = _chosen()


def command(program: str) -> list[str]:
    """The command that starts a program of the product."""
    return [PYTHON, "-m", _MODULES[program]]


def environment(compiled: Path | None = None, **more: str) -> dict[str, str]:
    """The environment that it needs. With `compiled`, its modules are compiled into that folder, as those of
    a package are at its installation."""
    needed = {"PYTHONPATH": f"{_CHECKOUT}:{_PACKAGES / 'site-packages'}", **more}
    if compiled is not None:
        needed["PYTHONPYCACHEPREFIX"] = str(compiled)
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, **needed}


def described() -> str:
    """The interpreter, how it was built, and when and beside how much other work it ran."""
    ran = subprocess.run((PYTHON, "-c", _DESCRIBE), stdout=subprocess.PIPE, text=True, check=True)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"CPython {ran.stdout.strip()}; {os.cpu_count()} processors; load over 1, 5 and 15 minutes {load}; "
        f"{time.strftime('%Y-%m-%d %H:%M')}"
    )
