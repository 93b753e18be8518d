"""The files by which systemd-networkd takes the addresses of links."""

from __future__ import annotations

import configparser
import re
from ipaddress import IPv4Interface
from pathlib import Path

import pytest

from wifimgrd.domain.errors import InternalError, InvalidRequest
from wifimgrd.helper._link_files import LinkConfiguration, LinkFiles

MAC = "00:c0:ca:01:02:03"
BY_DHCP = LinkConfiguration("wlan0", 3, MAC)
STATIC = LinkConfiguration("wlan0", 3, MAC, IPv4Interface("192.168.54.2/24"))
TABLE = str(0x774A0003)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    networks, settings = tmp_path / "network", tmp_path / "networkd.conf.d"
    networks.mkdir()
    settings.mkdir()
    return networks, settings


@pytest.fixture
def files(folders: tuple[Path, Path]) -> LinkFiles:
    return LinkFiles(*folders)


def parsed(text: str) -> configparser.ConfigParser:
    options = configparser.ConfigParser(interpolation=None)
    options.optionxform = str  # type: ignore[assignment,method-assign]  # the case of names is kept
    options.read_string(text)
    return options


@pytest.mark.parametrize("configuration", [BY_DHCP, STATIC], ids=["dhcp", "static"])
def test_a_link_takes_an_address_and_nothing_else(configuration: LinkConfiguration) -> None:
    options = parsed(configuration.text)
    assert dict(options["Match"]) == {"Name": "wlan0", "PermanentMACAddress": MAC}
    assert options["Link"]["RequiredForOnline"] == "no"
    given = dict(options["Network"])
    assert given.pop("DHCP") == ("no" if configuration.local_address else "ipv4")
    assert set(given.values()) == {"no"}
    assert {"LinkLocalAddressing", "IPv6AcceptRA", "LLMNR", "MulticastDNS", "DNSDefaultRoute"} <= set(given)


def test_of_a_lease_only_the_address_is_used_with_a_route_in_the_links_own_table() -> None:
    options = parsed(BY_DHCP.text)
    lease = dict(options["DHCPv4"])
    assert lease.pop("RouteTable") == TABLE
    assert lease.pop("ClientIdentifier") == "mac"
    assert set(lease.values()) == {"no"}
    assert {"UseRoutes", "UseGateway", "UseDNS", "UseMTU", "UseHostname", "SendHostname"} <= set(lease)
    assert set(options) == {"DEFAULT", "Match", "Link", "Network", "DHCPv4"}


def test_a_static_address_has_its_route_in_the_links_own_table_alone() -> None:
    options = parsed(STATIC.text)
    assert dict(options["Address"]) == {"Address": "192.168.54.2/24", "AddPrefixRoute": "no"}
    assert dict(options["Route"]) == {
        "Destination": "192.168.54.0/24",
        "PreferredSource": "192.168.54.2",
        "Scope": "link",
        "Table": TABLE,
    }


def test_an_adapter_without_a_known_address_is_matched_by_its_name() -> None:
    assert dict(parsed(LinkConfiguration("wlan0", 3, "").text)["Match"]) == {"Name": "wlan0"}


def test_a_file_is_written_once_and_can_be_read_by_networkd(
    files: LinkFiles, folders: tuple[Path, Path]
) -> None:
    assert files.write(BY_DHCP)
    assert not files.write(BY_DHCP)
    [file] = folders[0].iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == ("05-wifimgrd-wlan0.network", 0o644)
    assert files.write(STATIC)
    assert [one.read_text() for one in folders[0].iterdir()] == [STATIC.text]


def test_the_settings_keep_networkd_away_from_other_programs(
    files: LinkFiles, folders: tuple[Path, Path]
) -> None:
    assert files.write_settings("")
    assert not files.write_settings("")
    [file] = folders[1].iterdir()
    assert file.stat().st_mode & 0o777 == 0o644
    assert dict(parsed(file.read_text())["Network"]) == {
        "ManageForeignRoutingPolicyRules": "no",
        "ManageForeignRoutes": "no",
        "ManageForeignNextHops": "no",
    }


def test_what_is_removed_is_that_and_what_is_not_there_is_no_failure(
    files: LinkFiles, folders: tuple[Path, Path]
) -> None:
    files.write(BY_DHCP)
    files.write(LinkConfiguration("wlan1", 4, ""))
    assert files.remove("wlan0")
    assert not files.remove("wlan0")
    assert [file.name for file in folders[0].iterdir()] == ["05-wifimgrd-wlan1.network"]


def test_all_of_it_is_removed_and_nothing_of_others(files: LinkFiles, folders: tuple[Path, Path]) -> None:
    others = [folders[0] / "10-netplan-eth0.network", folders[1] / "10-other.conf"]
    for other in others:
        other.touch()
    assert not files.remove_all()
    files.write_settings("")
    files.write(BY_DHCP)
    folders[0].joinpath("05-wifimgrd-wlan1.networkx1y2.new").touch()
    assert files.remove_all()
    assert [file for folder in folders for file in folder.iterdir()] == others


@pytest.mark.parametrize("name", ["", "wlan*", "wlan0 wlan1", "!wlan0", "../wlan0", "a" * 16, "wlän0", "w\n"])
def test_a_name_that_networkd_would_take_for_a_pattern_gets_no_file(
    files: LinkFiles, folders: tuple[Path, Path], name: str
) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(repr(name))):
        files.write(LinkConfiguration(name, 3, ""))
    with pytest.raises(InvalidRequest, match=re.escape(repr(name))):
        files.remove(name)
    assert not list(folders[0].iterdir())


def test_a_folder_that_is_missing_is_explained(tmp_path: Path) -> None:
    files = LinkFiles(tmp_path / "none", tmp_path / "none")
    with pytest.raises(
        InternalError, match=r"05-wifimgrd-wlan0.network cannot be written: No such file .*tmpfiles"
    ):
        files.write(BY_DHCP)
    assert not files.remove("wlan0")
    assert not files.remove_all()


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(
    files: LinkFiles, folders: tuple[Path, Path]
) -> None:
    in_the_way = folders[0] / "05-wifimgrd-wlan0.network"
    in_the_way.mkdir()
    with pytest.raises(InternalError, match="cannot be written: Is a directory"):
        files.write(BY_DHCP)
    assert list(folders[0].iterdir()) == [in_the_way]


@pytest.mark.parametrize("configuration", [BY_DHCP, STATIC], ids=["dhcp", "static"])
def test_a_link_can_be_without_an_address_for_a_while(
    files: LinkFiles, configuration: LinkConfiguration
) -> None:
    files.write(configuration)
    file = files.file("wlan0")
    with files.without_address("wlan0"):
        options = parsed(file.read_text())
        assert options["Network"]["DHCP"] == "no"
        assert set(options) == {"DEFAULT", "Match", "Link", "Network"}
    assert file.read_text() == configuration.text


def test_what_replaces_a_file_meanwhile_stays(files: LinkFiles) -> None:
    files.write(BY_DHCP)
    with files.without_address("wlan0"):
        files.write(STATIC)
    assert files.file("wlan0").read_text() == STATIC.text
    with files.without_address("wlan0"):
        files.remove("wlan0")
    assert not files.has("wlan0")
    with files.without_address("wlan0"):
        assert not files.has("wlan0")
