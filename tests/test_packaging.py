"""What the packages and the checkout's set-up rely on."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from contextlib import closing
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wifimgrd.cli._setup_file import text_of
from wifimgrd.daemon.store._schema import open_database

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


def settled(tmp_path: Path, **settings: str) -> tuple[str, Path]:
    """What putting settings of the build into Debian's files says, and where these are."""
    folder = tmp_path / "debian"
    shutil.copytree(DEBIAN, folder)
    environment = {key: value for key, value in os.environ.items() if key not in ("MAINTAINER", "HOMEPAGE")}
    command = [CHECKOUT / "packaging" / "apply_settings", folder]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment | settings)
    assert done.returncode == (1 if done.stderr else 0)
    return done.stderr, folder


def test_without_settings_the_maintainer_is_nobody_who_could_be_written_to(tmp_path: Path) -> None:
    said, folder = settled(tmp_path)
    assert said == ""
    for file in sorted(DEBIAN.rglob("*")):
        assert file.is_dir() or file.read_bytes() == (folder / file.relative_to(DEBIAN)).read_bytes()
    addresses = {
        address
        for file in DEBIAN.iterdir()
        if file.is_file()
        for address in re.findall(r"[\w.+-]+@[\w.-]+\w", file.read_text())
    }
    assert addresses == {"nobody@wifimgrd.invalid"}


def test_maintainer_and_homepage_are_settings_of_the_build(tmp_path: Path) -> None:
    who = "Zoë O'Hara & Sons <deb+1@hub.example>"
    said, folder = settled(tmp_path, MAINTAINER=who, HOMEPAGE="https://hub.example/wifimgrd/")
    assert said == ""
    assert "wifimgrd.invalid" not in "".join(file.read_text() for file in folder.rglob("*") if file.is_file())
    control = (folder / "control").read_text().splitlines()
    place = control.index("Homepage: https://hub.example/wifimgrd/")
    assert control[place + 1] == f"Maintainer: {who}"
    changelog = ["dpkg-parsechangelog", f"-l{folder / 'changelog'}", "-SMaintainer"]
    assert subprocess.check_output(changelog, text=True).strip() == who
    for file in folder.glob("*.NEWS"):
        assert re.findall("^ -- (.*?)  ", file.read_text(), re.MULTILINE)[0] == who


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAINTAINER", "hub@hub.example"),
        ("MAINTAINER", "Hub <root@localhost>"),
        ("MAINTAINER", "Hub, Inc. <hub@hub.example>"),
        ("MAINTAINER", "Hub <hub@hub.example>\nEssential: yes"),
        ("HOMEPAGE", "hub.example"),
        ("HOMEPAGE", "https://hub.example/\nEssential: yes"),
    ],
)
def test_a_setting_that_debian_would_refuse_is_refused(tmp_path: Path, name: str, value: str) -> None:
    said, folder = settled(tmp_path, **{name: value})
    assert said.startswith(f"apply_settings: {name} is ")
    assert (folder / "control").read_text() == (DEBIAN / "control").read_text()


@pytest.mark.parametrize(
    ("source", "version", "is_admitted"),
    [
        ("pip", "0.16.0", True),
        ("pip", "0.15.0", False),
        ("debian", "0.14.0-1.1~deb12u1", True),  # of Debian 12, mended
        ("debian", "0.14.0-1.1", True),
        ("debian", "0.14.0-1", False),
    ],
)
def test_a_parser_of_chunks_that_ends_them_anywhere_is_not_admitted(
    source: str, version: str, is_admitted: bool
) -> None:
    if source == "pip":
        [line] = re.findall(r"^    (h11 .*)$", (CHECKOUT / "setup.cfg").read_text(), re.MULTILINE)
        assert Requirement(line).specifier.contains(version) == is_admitted
    else:
        [least] = re.findall(r"python3-h11 \(>= (.*?)\)", (DEBIAN / "control").read_text())
        compared = subprocess.run(["dpkg", "--compare-versions", version, "ge", least], check=False)
        assert (compared.returncode == 0) == is_admitted


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


def purged(package: str, root: Path) -> str:
    """What a purge of a package within another root says."""
    script = DEBIAN / f"{package}.postrm"
    text = script.read_text().replace('"$DPKG_ROOT"/', "$DPKG_ROOT/")
    assert not re.search(r"(?<!\$DPKG_ROOT)/(var|etc)/", text), "as root, it would take this computer's own"
    environment = {**os.environ, "DPKG_ROOT": str(root)}
    ran = subprocess.run(["sh", script, "purge"], check=True, env=environment, capture_output=True, text=True)
    assert ran.stderr == ""
    return ran.stdout


def put(root: Path, *names: str) -> None:
    """Files with anything in them."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("any")


SETTINGS: Final = text_of(
    {
        ("http", "token_file"): "/etc/wifimgrd/token",
        ("mqtt", "user"): "hub",
        ("mqtt", "password_file"): "/etc/wifimgrd/mqtt-password",
    }
)
"""What `wifimgrctl setup` writes."""


def test_a_purge_takes_the_state_and_what_setup_wrote_within_its_root(tmp_path: Path) -> None:
    port = "etc/systemd/system/wifimgrd-http.socket.d/50-setup.conf"
    put(tmp_path, "var/lib/wifimgrd/wifimgrd.db", "var/lib/other", "etc/systemd/system/other.service", port)
    names = [f"etc/wifimgrd/{name}" for name in ("token", "mqtt-password", "wifimgrd.toml.d/50-setup.toml")]
    put(tmp_path, *names)
    (tmp_path / names[2]).write_text(SETTINGS)
    assert purged("wifimgrd-http", tmp_path) == ""
    assert [name for name in (*names, port) if not (tmp_path / name).exists()] == [port]
    assert purged("wifimgrd", tmp_path) == ""
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {
        "var", "var/lib", "var/lib/other", "etc", "etc/systemd", "etc/systemd/system",
        "etc/systemd/system/other.service",
    }  # fmt: skip
    assert purged("wifimgrd", tmp_path) + purged("wifimgrd-http", tmp_path) == ""


def test_a_purge_of_the_bridge_to_ground_stations_takes_its_state(tmp_path: Path) -> None:
    put(
        tmp_path, "var/lib/wifimgrd-mavlink/components.json", "var/lib/wifimgrd/x", "etc/wifimgrd/mavlink-key"
    )
    assert purged("wifimgrd-mavlink", tmp_path) == ""
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"var/lib/wifimgrd/x", "etc/wifimgrd/mavlink-key"}


def test_a_purge_leaves_the_files_of_others(tmp_path: Path) -> None:
    names = (
        "etc/wifimgrd/wifimgrd.toml.d/90-local.toml",
        "etc/wifimgrd/token",
        "etc/wifimgrd/mqtt-password",
        "etc/systemd/system/wifimgrd-http.socket.d/local.conf",
    )
    put(tmp_path, *names)
    settings = tmp_path / "etc/wifimgrd/wifimgrd.toml.d/50-setup.toml"
    settings.write_text(SETTINGS.replace("/etc/wifimgrd/", "/etc/wifimgrd/../"))
    assert purged("wifimgrd", tmp_path) + purged("wifimgrd-http", tmp_path) == ""
    assert all((tmp_path / name).exists() for name in names)


@pytest.mark.parametrize("adapter", ["00:1A:7D:DA:71:13", ""])
def test_a_purge_says_which_bonds_of_the_hub_stay(tmp_path: Path, adapter: str) -> None:
    bonds = tmp_path / "var/lib/bluetooth/00:1A:7D:DA:71:13"
    names = {
        "F4:DD:9E:00:00:01": "GoPro\x1b[2J 0001",
        "F4:DD:9E:00:00:02": "Other",
        "11:22:33:44:55:66": "Keyboard",
    }
    for address, name in names.items():
        (bonds / address).mkdir(parents=True)
        (bonds / address / "info").write_text(f"[General]\nName={name}\n\n[LongTermKey]\nKey=secret\n")
    rows = [
        ("F4:DD:9E:00:00:01", adapter, 1),
        ("F4:DD:9E:00:00:03", "", 1),
        ("*", "", 1),
        ("F4:DD:9E:00:00:02", "00:00:00:00:00:01", 1),  # the bond at the adapter that is there is another's
        ("F4:DD:9E:00:00:02", "00:1A:7D:DA:71:13", 0),
    ]
    with closing(open_database(tmp_path / "var/lib/wifimgrd")) as database:
        database.execute("INSERT INTO memory VALUES ('seen', '11:22:33:44:55:66')")
        database.executemany("INSERT INTO bond VALUES (?, ?, ?)", rows)
    said = "The Bluetooth bond with GoPro[2J 0001 stays: bluetoothctl remove F4:DD:9E:00:00:01\n"
    assert purged("wifimgrd", tmp_path) == said
    assert len(list(bonds.iterdir())) == 3


def test_a_purge_ends_whatever_the_state_is(tmp_path: Path) -> None:
    put(tmp_path, "var/lib/wifimgrd/wifimgrd.db")
    assert purged("wifimgrd", tmp_path) == ""
    assert not (tmp_path / "var/lib/wifimgrd").exists()


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
