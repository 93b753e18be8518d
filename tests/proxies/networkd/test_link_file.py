"""Which file systemd-networkd applies to a link, by its description and the files that there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wifimgrd.proxies.networkd.link_file import other_configuration
from wifimgrd.proxies.networkd.manager import description_in

OWN = "05-wifimgrd-wlan0.network"


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Those of /etc and /run, with the helper's file in the second one."""
    folders = [tmp_path / "etc", tmp_path / "run"]
    for folder in folders:
        folder.mkdir()
    (folders[1] / OWN).write_text("[Match]\nName=wlan0\n")
    return folders


def other(folders: list[Path], **described: object) -> str | None:
    """What networkd applies besides the helper's file, where it describes the link in this way."""
    text = json.dumps({"Name": "wlan0"} | described)
    return other_configuration("wlan0", description_in(text), folders[1] / OWN, folders)


def test_the_helpers_file_alone_is_as_it_should_be(folders: list[Path]) -> None:
    own = str(folders[1] / OWN)
    assert other(folders, NetworkFile=own) == ""
    assert other(folders, NetworkFile=own, NetworkFileDropins=[]) == ""


@pytest.mark.parametrize("state", ["pending", "initialized"])
def test_a_link_that_has_no_file_yet_has_no_other_one(folders: list[Path], state: str) -> None:
    assert other(folders, AdministrativeState=state) is None
    assert other_configuration("wlan0", description_in("no JSON")) is None


def test_another_file_is_named_and_what_to_do_about_it(folders: list[Path]) -> None:
    assert other(folders, NetworkFile="/etc/systemd/network/00-wlan0.network") == (
        "systemd-networkd applies /etc/systemd/network/00-wlan0.network to wlan0, before the hub's own file: "
        f"exclude wlan0 in its [Match], or rename it so that it sorts after {OWN}; then `networkctl reload`"
    )


def test_a_file_of_the_helpers_name_in_another_folder_is_not_the_helpers(folders: list[Path]) -> None:
    sentence = f"systemd-networkd takes {folders[0] / OWN} for the hub's file of wlan0: remove that file"
    assert other(folders, NetworkFile=str(folders[0] / OWN)) == sentence
    (folders[0] / OWN).symlink_to("/dev/null")
    assert other(folders, AdministrativeState="unmanaged") == sentence


def test_a_drop_in_that_networkd_reports_is_named(folders: list[Path]) -> None:
    found = other(folders, NetworkFile=str(folders[1] / OWN), NetworkFileDropins=["/etc/x.conf"])
    assert found == "systemd-networkd applies /etc/x.conf to wlan0: remove that file"


def test_a_drop_in_is_found_where_networkd_reports_none(folders: list[Path]) -> None:
    own, made = str(folders[1] / OWN), folders[1] / f"{OWN}.d"
    made.mkdir()
    (made / "readme.txt").write_text("nothing that networkd reads")
    assert other(folders, NetworkFile=own) == ""
    (made / "dns.conf").write_text("[Network]\nDNS=192.0.2.1\n")
    named = f"systemd-networkd applies {made / 'dns.conf'} to wlan0: remove that file"
    assert other(folders, NetworkFile=own) == named
    assert other(folders, NetworkFile=own, NetworkFileDropins=[]) == ""
    masking = folders[0] / f"{OWN}.d"
    masking.mkdir()
    (masking / "dns.conf").symlink_to("/dev/null")
    assert other(folders, NetworkFile=own) == ""


def test_a_file_by_which_networkd_leaves_the_link_alone_is_found(folders: list[Path]) -> None:
    for name, text in (
        ("00-eth.network", "[Match]\nName=eth0\n[Network]\nDHCP=yes\n"),
        ("04-wlan.network", "[Match]\nName=wl*\n[Link]\nUnmanaged = yes\n"),
        ("10-late.network", "[Match]\nName=wl*\n[Link]\nUnmanaged=yes\n"),
    ):
        (folders[0] / name).write_text(text)
    found = other(folders, AdministrativeState="unmanaged") or ""
    assert found.startswith(
        f"systemd-networkd leaves wlan0 alone by {folders[0] / '04-wlan.network'}, before"
    )


def test_where_no_file_explains_it_networkctl_may(folders: list[Path]) -> None:
    assert other(folders, AdministrativeState="unmanaged") == (
        f"systemd-networkd does not apply {folders[1] / OWN}: `networkctl status wlan0` may say why"
    )


def test_a_link_without_a_file_of_the_helpers_may_be_left_alone(folders: list[Path]) -> None:
    (folders[1] / OWN).unlink()
    assert other(folders, AdministrativeState="unmanaged") is None
