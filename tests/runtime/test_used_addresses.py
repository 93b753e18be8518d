"""The resolvers and time servers in the files of a host's services."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from wifimgrd.runtime.used_addresses import servers_in, used_addresses


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("nameserver 192.168.42.1", ["192.168.42.1"]),
        ("DNS=192.168.42.1 9.9.9.9#dns.quad9.net", ["192.168.42.1", "9.9.9.9"]),
        ("NTP = 10.5.5.9", ["10.5.5.9"]),
        ("FallbackNTP=ntp.example 10.5.5.9", ["10.5.5.9"]),
        ("server 192.168.1.1 iburst", ["192.168.1.1"]),
        ("  pool 192.168.1.1", ["192.168.1.1"]),
        ("# nameserver 192.168.42.1", []),
        ("search 192.168.42.1.example", []),
        ("nameserver 999.168.42.1", []),
        ("server ntp.example # 192.168.42.1", []),
        ("nameserver fe80::1", []),
    ],
)
def test_servers_are_found_in_the_files_of_resolvers_and_clocks(line: str, found: list[str]) -> None:
    assert servers_in([line]) == set(map(IPv4Address, found))


def test_the_files_are_read_where_they_are(tmp_path: Path) -> None:
    assert used_addresses(tmp_path) == frozenset()
    for name, text in (
        ("etc/resolv.conf", "nameserver 192.168.1.1\n"),
        ("run/systemd/resolve/resolv.conf", b"nameserver 192.168.1.2\n\xff\xfe"),
        ("etc/chrony/sources.d/lan.sources", "server 192.168.1.3\n"),
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "etc/ntp.conf").mkdir()
    assert used_addresses(tmp_path) == {IPv4Address(f"192.168.1.{number}") for number in (1, 2, 3)}


def test_a_file_that_has_changed_is_read_again_and_one_that_is_gone_counts_no_longer(tmp_path: Path) -> None:
    file = tmp_path / "etc/resolv.conf"
    file.parent.mkdir()
    for number in (1, 2, 3):  # at once, with equal sizes
        file.write_text(f"nameserver 192.168.1.{number}\n")
        assert used_addresses(tmp_path) == {IPv4Address(f"192.168.1.{number}")}
    file.unlink()
    assert used_addresses(tmp_path) == frozenset()


@pytest.mark.parametrize(("since_s", "reads"), [(1, 2), (3, 1)])
def test_a_file_that_has_not_changed_for_some_time_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, since_s: int, reads: int
) -> None:
    file = tmp_path / "etc/resolv.conf"
    file.parent.mkdir()
    file.write_text("nameserver 192.168.1.1\n")
    now_ns = file.stat().st_ctime_ns + since_s * 1_000_000_000
    opened: list[object] = []
    monkeypatch.setattr("time.time_ns", lambda: now_ns)
    monkeypatch.setattr(Path, "open", _noting(opened))
    for _ in range(2):
        assert used_addresses(tmp_path) == {IPv4Address("192.168.1.1")}
    assert opened == [file] * reads


def _noting(opened: list[object]) -> Callable[..., object]:
    really = Path.open

    def noting(file: Path, mode: str) -> object:
        opened.append(file)
        return really(file, mode)

    return noting
