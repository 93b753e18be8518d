"""Aliases for what must not be shown to strangers."""

from __future__ import annotations

import pytest

from wifimgrd.report.anonymize import Anonymizer


@pytest.fixture
def aliases() -> Anonymizer:
    aliases = Anonymizer(b"0123456789abcdef")
    aliases.hide("SSID", ["ONE X 1234", "ONE X 1234.OSC"])
    aliases.hide("NAME", ["Nose"])
    return aliases


def test_the_same_name_has_the_same_alias_everywhere_and_on_another_computer_another(
    aliases: Anonymizer,
) -> None:
    reported = aliases.applied("joined ONE X 1234.OSC (Nose), 'ONE X 1234' unseen; ONE X 1234.OSC again")
    first, second = aliases.of("SSID", "ONE X 1234.OSC"), aliases.of("SSID", "ONE X 1234")
    assert reported == f"joined {first} ({aliases.of('NAME', 'Nose')}), '{second}' unseen; {first} again"
    assert Anonymizer(b"another").of("NAME", "Nose") != aliases.of("NAME", "Nose")


@pytest.mark.parametrize(
    "line",
    [
        "wlan0: Trying to associate with 02:11:22:33:44:55 (SSID='My Home' freq=2412 MHz)",
        "<info> Config: added 'ssid' value 'My Home'",
        'wlan0: CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid="My Home" auth_failures=1',
        "device (wlan0): Activation: (wifi) connection 'My Home' has security, and secrets exist.",
        "policy: auto-activating connection 'My Home' (3f2a)",
        'wifimgrd[7]: "My Home" (device 9): connected through wlan0, the camera is 10.0.0.1',
        'no Wi-Fi interface is available: wlan0 (in use by "My Home"), wlan1 (reserved for "Nose")',
        '"My Home": no Wi-Fi interface is available: wlan0 (needed for "Nose")',
        '"My Home" is being removed',
        'that camera is "My Home"',
    ],
)
def test_networks_of_others_in_foreign_logs_get_one_too(aliases: Anonymizer, line: str) -> None:
    reported = aliases.applied(line)
    assert "My Home" not in reported
    assert aliases.of("SSID", "My Home") in reported
    assert "02:11:22" not in reported


def test_addresses_of_cards_are_aliased_in_every_spelling_but_those_of_nobody(aliases: Anonymizer) -> None:
    reported = aliases.applied(
        "02:AB:cd:00:00:01 02-ab-cd-00-00-01 wlx02abcd000001 ff:ff:ff:ff:ff:ff 00:00:00:00:00:00"
    )
    alias = aliases.of("MAC", "02abcd000001")
    assert reported == f"{alias} {alias} wlx-{alias} ff:ff:ff:ff:ff:ff 00:00:00:00:00:00"


@pytest.mark.parametrize(
    "line",
    [
        "Config: added 'psk' value 'hunter22hunter'",
        "psk=hunter22hunter",
        '"password": "hunter22hunter"',
        "802-11-wireless-security.psk: hunter22hunter",
        "Wi-Fi passphrase = hunter22hunter",
    ],
)
def test_what_looks_like_a_secret_is_hidden(aliases: Anonymizer, line: str) -> None:
    assert "hunter22" not in aliases.applied(line)


def test_times_and_versions_stay_as_they_are(aliases: Anonymizer) -> None:
    line = "2026-11-21T14:03:22+0000 wifimgrd[12]: started version=0.1.0 in 00:03:22"
    assert aliases.applied(line) == line
