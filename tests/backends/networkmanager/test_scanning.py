"""What NetworkManager's flags say of a network."""

from __future__ import annotations

import pytest

from wifimgrd.backends.networkmanager.scanning import security_of
from wifimgrd.domain.network import Security

PRIVACY, PSK, IEEE_802_1X, SAE, OWE = 0x1, 0x100, 0x200, 0x400, 0x800


@pytest.mark.parametrize(
    ("flags", "wpa", "rsn", "security"),
    [
        (0, 0, 0, Security.OPEN),
        (PRIVACY, 0, 0, Security.WEP),
        (PRIVACY, PSK, 0, Security.WPA),
        (PRIVACY, 0, PSK | 0x88, Security.WPA2),
        (PRIVACY, PSK, PSK, Security.WPA2),
        (PRIVACY, 0, PSK | SAE, Security.WPA2_WPA3),
        (PRIVACY, 0, SAE, Security.WPA3),
        (PRIVACY, 0, IEEE_802_1X, Security.ENTERPRISE),
        (PRIVACY, 0, 0x2000, Security.ENTERPRISE),
        (PRIVACY, 0, IEEE_802_1X | PSK, Security.WPA2),
        (0, 0, OWE, Security.OWE),
    ],
)
def test_security_by_flags(flags: int, wpa: int, rsn: int, security: Security) -> None:
    assert security_of(flags, wpa, rsn) is security
