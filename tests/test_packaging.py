"""What the packages and the checkout's set-up rely on."""

from __future__ import annotations

import json
import os
import re
import subprocess
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT = Path(__file__).parents[1]
DEBIAN = CHECKOUT / "packaging" / "debian"


def locked() -> dict[str, str]:
    """The version of each Python package in the lock."""
    lines = (CHECKOUT / "tools" / "requirements.lock").read_text().splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): number for name, number in pairs}


def needed() -> dict[str, str]:
    """Each installed package that the checkout needs, with the extras that set-up asks for."""
    found: dict[str, str] = {}
    left = [Requirement("wifimgrd[test,lint]")]
    seen = set()
    while left:
        requirement = left.pop()
        for extra in {"", *requirement.extras}:
            key = (canonicalize_name(requirement.name), extra)
            if key in seen:
                continue
            seen.add(key)
            try:
                found[key[0]] = version(requirement.name)
            except PackageNotFoundError:
                continue
            required = map(Requirement, requires(requirement.name) or ())
            left += [one for one in required if one.marker is None or one.marker.evaluate({"extra": extra})]
    found.pop("wifimgrd")
    return found


def test_every_python_package_of_the_checkout_has_its_version_in_the_lock() -> None:
    assert needed() == {name: locked().get(name) for name in needed()}
    assert {"setuptools", "wheel"} <= set(locked())


def test_the_copyright_names_everything_that_is_bundled_with_the_page() -> None:
    text = (DEBIAN / "copyright").read_text()
    bundled = json.loads((CHECKOUT / "frontend" / "package.json").read_text())["dependencies"].keys() - {
        "esbuild"
    }
    assert bundled == {"preact", "@preact/signals", "leaflet", "uplot", "mqtt"}
    for name in bundled:
        [file] = (CHECKOUT / "frontend" / "node_modules" / name).glob("LICENSE*")
        [holder] = re.findall(r"Copyright \(c\) [\d-]+(?:present)?,? (.+)", file.read_text())[:1]
        assert holder in text
    for license_name in ("Expat", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD", "Apache-2.0"):
        assert f"\nLicense: {license_name}\n" in text


def test_a_purge_within_another_root_takes_the_state_there_alone(tmp_path: Path) -> None:
    state = tmp_path / "var/lib/wifimgrd"
    state.mkdir(parents=True)
    script = DEBIAN / "wifimgrd.postrm"
    assert " /var" not in script.read_text(), "as root, this test would take this computer's own state"
    subprocess.run(["sh", script, "purge"], check=True, env={**os.environ, "DPKG_ROOT": str(tmp_path)})
    assert not state.exists()


@pytest.mark.parametrize(
    ("arguments", "stopped"),
    [
        (["upgrade", "1.1"], ["wifimgrd.service", "wifimgrd-net.service"]),
        (["upgrade", "1.2~rc1"], ["wifimgrd.service", "wifimgrd-net.service"]),
        (["upgrade", "1.2"], []),
        (["upgrade", "1.10"], []),
        (["failed-upgrade", "1.1"], []),
    ],
)
def test_a_downgrade_alone_stops_the_daemon_and_then_the_helper(
    tmp_path: Path, arguments: list[str], stopped: list[str]
) -> None:
    """The commands that the script calls are replaced, and /run is the script's own."""
    for name, body in (
        ("dpkg-query", "echo 1.2"),
        ("deb-systemd-invoke", f'echo "$@" >> {tmp_path}/calls'),
    ):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    (tmp_path / "calls").touch()
    script = 'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec sh "$@"'
    subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", str(DEBIAN / "wifimgrd.prerm"), *arguments],
        check=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert (tmp_path / "calls").read_text().splitlines() == [f"stop {unit}" for unit in stopped]


BUSCTL = r"""
echo "$@" >> "$CALLS"
case "$*" in
*"GetInterface s wlan0"*) echo 'o "/fi/w1/wpa_supplicant1/Interfaces/0"' ;;
*"GetInterface s wlan1"*) echo 'o "/fi/w1/wpa_supplicant1/Interfaces/1"' ;;
*GetInterface*) exit 1 ;;
*"Interfaces/0 "*CurrentNetwork) echo 'o "/fi/w1/wpa_supplicant1/Interfaces/0/Networks/3"' ;;
*"Interfaces/1 "*CurrentNetwork) echo 'o "/fi/w1/wpa_supplicant1/Interfaces/1/Networks/0"' ;;
*"/Networks/3 "*Properties) echo 'a{sv} 2 "ssid" s "\"CAM\"" "id_str" s "\"wifimgrd:7\""' ;;
*"/Networks/0 "*Properties) echo 'a{sv} 2 "ssid" s "\"wifimgrd:7\"" "disabled" s "0"' ;;
*RemoveInterface*) ;;
*) exit 1 ;;
esac
"""
"""wlan0 is joined by the daemon, wlan1 by another program, and wlan2 is none of wpa_supplicant's."""


@pytest.mark.parametrize("files", [["wlan0", "wlan1", "wlan2"], []])
def test_a_removal_ends_the_links_of_wpa_supplicant_that_are_the_daemons(
    tmp_path: Path, files: list[str]
) -> None:
    """The commands that the script calls are replaced, and /run is the script's own."""
    for name, body in (
        ("busctl", BUSCTL),
        ("nmcli", "exit 127"),
        ("deb-systemd-invoke", ""),
        ("wifimgrd-net", 'echo "wifimgrd-net $@" >> "$CALLS"'),
    ):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    names = " ".join(f"/run/systemd/network/05-wifimgrd-{name}.network" for name in files)
    script = f"""mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/systemd/network || exit
    for file in {names}; do touch "$file"; done
    exec sh "$@" """
    subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", str(DEBIAN / "wifimgrd.prerm"), "remove"],
        check=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(tmp_path / "calls")},
    )
    calls = (tmp_path / "calls").read_text().splitlines()
    removed = [call.rpartition(" ")[2] for call in calls if "RemoveInterface" in call]
    assert removed == (["/fi/w1/wpa_supplicant1/Interfaces/0"] if files else [])
    assert calls[-1] == "wifimgrd-net --clear"
