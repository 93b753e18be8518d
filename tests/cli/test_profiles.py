"""Profiles of NetworkManager: what cameras may have of them, and what is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.cli._profiles import is_profile, profile_entry

SECURITY = "[wifi-security]\nkey-mgmt=wpa-psk\npsk=camera-pass-1\n"


def profile(ssid: str = "CAM-1", security: str = SECURITY, of_wifi: str = "", name: str = "CAM-1") -> str:
    """As NetworkManager writes one."""
    return (
        f"[connection]\nid={name}\nuuid=27afa607-ee36-43f0-b8c3-9d245cdc4bb3\ntype=wifi\nautoconnect=false\n\n"
        f"[wifi]\nmode=infrastructure\nssid={ssid}\n{of_wifi}\n{security}\n[ipv4]\nmethod=auto\n\n[proxy]\n"
    )


@pytest.mark.parametrize(
    ("text", "ssid", "password"),
    [
        (profile(), b"CAM-1", "camera-pass-1"),
        (profile(of_wifi="hidden=true\n"), b"CAM-1", "camera-pass-1"),
        (profile("65;66;195;"), b"AB\xc3", "camera-pass-1"),
        (profile("65;66"), b"65;66", "camera-pass-1"),
        (profile("65;;66;"), b"65;;66;", "camera-pass-1"),
        (profile("300;1;"), b"300;1;", "camera-pass-1"),
        (profile("1234;"), b"1234;", "camera-pass-1"),
        (profile(r"\s65;\n66; "), b"AB", "camera-pass-1"),
        (profile(r"a\\;b"), b"a;b", "camera-pass-1"),
        (profile(r"a\q"), rb"a\q", "camera-pass-1"),
        (profile("a\\"), b"a", "camera-pass-1"),
        (profile("65 ; 66 ;"), b"AB", "camera-pass-1"),
        (profile("12345678"), b"12345678", "camera-pass-1"),
        (profile(r"12\;34"), b"12;34", "camera-pass-1"),
        (profile(r"\sTwo words\s"), b" Two words ", "camera-pass-1"),
        (profile("CAM A "), b"CAM A ", "camera-pass-1"),
        (profile(" \tCAM\u2028\x85\x1c\t"), "CAM\u2028\x85\x1c\t".encode(), "camera-pass-1"),
        (profile().replace("\n", "\r\n"), b"CAM-1", "camera-pass-1"),
        (profile("# no comment = 1"), b"# no comment = 1", "camera-pass-1"),
        (profile("前門"), "前門".encode(), "camera-pass-1"),
        (profile(security="[wifi-security]\nkey-mgmt=sae\npsk=a;b\\\\c\\s\n"), b"CAM-1", "a;b\\c "),
        (profile(security="[wifi-security]\nkey-mgmt=wpa-psk\npsk=100%s #1\n"), b"CAM-1", "100%s #1"),
        (profile(security="[wifi-security]\nkey-mgmt=wpa-psk\npsk=camera pass \n"), b"CAM-1", "camera pass "),
        (profile(security="[wifi-security]\nkey-mgmt=WPA-PSK\npsk=12345678\n"), b"CAM-1", "12345678"),
        (profile(security=""), b"CAM-1", ""),
        (profile(security="[wifi-security]\nkey-mgmt=none\n"), b"CAM-1", ""),
        (profile(security="[wifi-security]\nkey-mgmt=owe\n"), b"CAM-1", ""),
        (
            "[connection]\ntype=802-11-wireless\n[802-11-wireless]\nssid=67;\n"
            "[802-11-wireless-security]\nkey-mgmt=wpa-psk\npsk=12345678\n",
            b"C",
            "12345678",
        ),
        (profile() + "\n[wifi-security]\npsk=a-later-one\n", b"CAM-1", "a-later-one"),
        (profile() + "\n[802-11-wireless]\nssid=the long name\n", b"the long name", "camera-pass-1"),
        (profile(security="  [wifi-security]\n  key-mgmt=wpa-psk\n  psk=indented\n"), b"CAM-1", "indented"),
    ],
)
def test_a_network_is_read(text: str, ssid: bytes, password: str) -> None:
    """As NetworkManager 1.42.4 reads the same files: nm_keyfile_read() of its libnm."""
    assert is_profile(text)
    entry = profile_entry(text, "x.nmconnection")
    assert entry is not None
    assert (entry.ssid, entry.problem) == (ssid, "")
    assert entry.password is not None
    assert entry.password.reveal() == password
    assert "camera-pass" not in repr(entry)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            profile(security="[wifi-security]\nkey-mgmt=wpa-psk\npsk-flags=1\n"),
            "its password is not in the file",
        ),
        (
            profile(security="[wifi-security]\nkey-mgmt=wpa-psk\npsk-flags=2\npsk=x\n"),
            "its password is not in",
        ),
        (profile(security="[wifi-security]\nkey-mgmt=wpa-psk\n"), "its password is not in the file"),
        (profile(security="[wifi-security]\nkey-mgmt=wpa-psk\npsk=\n"), "its password is not in the file"),
        (profile(security="[wifi-security]\npsk=12345678\n"), "it has no key-mgmt"),
        (profile(security="[wifi-security]\nkey-mgmt=\npsk=12345678\n"), "it has no key-mgmt"),
        (profile(security="[wifi-security]\n"), "it has no key-mgmt"),
        (profile(security="[wifi-security]\nkey-mgmt=none\npsk=12345678\n"), "with key-mgmt=none uses none"),
        (profile(security="[wifi-security]\nkey-mgmt=wpa-psk\npsk=12\\345678\n"), "a backslash"),
        (profile(security="[wifi-security]\nkey-mgmt=wpa-psk\npsk=12345678\\\n"), "a backslash"),
        (profile(security="[wifi-security]\nkey-mgmt=wpa-eap\n"), "its security is wpa-eap"),
        (profile(security="[802-1x]\neap=peap\nidentity=x\n"), "its security is 802.1X"),
        (profile(security="[wifi-security]\nkey-mgmt=none\nauth-alg=shared\n"), "its security is WEP"),
        (
            profile(security="[wifi-security]\nkey-mgmt=" + "x" * 200 + "\n"),
            "the profile has an unknown key-mgmt",
        ),
        (profile(security="[wifi-security]\nkey-mgmt=none\nwep-key0=12345\n"), "its security is WEP"),
        (profile(""), "no valid SSID"),
        ("[connection]\ntype=wifi\n[wifi]\nmode=infrastructure\n", "no valid SSID"),
        ("nonsense\n[connection]\n", "not a profile of NetworkManager: line 1"),
        ("root:$6$salt$hash:20228:0:99999:7:::\n", "not a profile of NetworkManager: line 1 is neither"),
        ("[connection]\nid=a\0\n", "it has NUL characters"),
        ("[connection]\n", "it has no type"),
        ("", "it has no type"),
    ],
)
def test_why_a_network_cannot_be_registered(text: str, problem: str) -> None:
    entry = profile_entry(text, "x.nmconnection")
    assert entry is not None
    assert problem in entry.problem
    assert entry.password is None
    assert not any(one in entry.problem for one in ("hash", "345678", "x" * 21))


@pytest.mark.parametrize(
    "text",
    [
        "[connection]\nid=eth0\ntype=ethernet\n",
        profile().replace("mode=infrastructure", "mode=ap"),
        "[connection]\nid=x\n[wifi]\nmode=ap\nssid=CAM\n",
    ],
)
def test_what_is_no_network_to_join_is_passed_over(text: str) -> None:
    assert profile_entry(text, "x.nmconnection") is None


def test_a_name_of_its_own_is_kept() -> None:
    assert profile_entry(profile(), "x").settings == {}  # type: ignore[union-attr]
    assert profile_entry(profile(name="Nose"), "x").settings == {"name": "Nose"}  # type: ignore[union-attr]


@given(st.text(max_size=200), st.text(max_size=80))
def test_no_text_is_too_strange(text: str, ssid: str) -> None:
    for one in (text, f"[connection]\n{text}", profile(ssid.replace("\n", "")), profile(security=text)):
        entry = profile_entry(one, "x")
        assert entry is None or entry.checked()
