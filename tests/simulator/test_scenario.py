"""Scenario files: what is valid, and the errors for what is not."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.camera import CameraDriver
from wifimgrd.simulator import ScenarioError, Security, load_scenario, parse_scenario
from wifimgrd.simulator.emulators import CameraSettings


def test_the_default_scenario_is_the_contracts() -> None:
    scenario = load_scenario()
    assert list(scenario.adapters) == ["wlan0", "wlan1", "wlan2"]
    cameras = {plan.ssid.text: (plan.passphrase.reveal(), plan.powered) for plan in scenario.cameras.values()}
    assert cameras == {
        "SIM-CAM-1": ("camera-pass-1", True),
        "SIM-CAM-2": ("camera-pass-2", True),
        "SIM-CAM-3": ("camera-pass-3", True),
        "SIM-CAM-4": ("camera-pass-4", True),
        "SIM-CAM-OFF": ("camera-pass-off", False),
        "GP25140001": ("gopro-pass-1", True),
        "X4 SIM360.OSC": ("insta-pass-1", True),
        "THETAYR12345678.OSC": ("12345678", True),
    }
    asleep = [plan.ssid.text for plan in scenario.cameras.values() if plan.asleep]
    assert asleep == ["GP25140001", "X4 SIM360.OSC", "THETAYR12345678.OSC"]
    plans = scenario.cameras.values()
    assert {plan.ssid.text: plan.emulated[0].value for plan in plans if plan.emulated is not None} == {
        "SIM-CAM-1": "insta360",
        "SIM-CAM-2": "insta360",
        "SIM-CAM-3": "insta360",
        "SIM-CAM-4": "insta360",
        "GP25140001": "gopro",
        "X4 SIM360.OSC": "insta360",
        "THETAYR12345678.OSC": "osc",
    }
    assert scenario.times.join_s == 0.2


def test_adapters_differ_and_look_like_usb() -> None:
    adapters = [plan.adapter for plan in parse_scenario("adapter_count = 256").adapters.values()]
    assert len({adapter.identity.mac for adapter in adapters}) == 256
    assert len({adapter.identity.usb_port for adapter in adapters}) == 256
    assert all(adapter.is_usb for adapter in adapters)


def test_every_key() -> None:
    scenario = parse_scenario("""
adapter_count = 1
camera_count = 2
[times]
join_s = 1
scan_s = 0.5
dhcp_s = 2
leave_s = 0
silence_s = 3.5
give_up_s = 20
[[adapter]]
name = "wlp3s0"
usb = false
mac = "02:AA:00:00:00:01"
driver = "iwlwifi"
bands = ["5GHz"]
obstacle = 'carries the connection "Home"'
rfkill = "hard-blocked"
[[adapter]]
name = "wlan0"
usb_port = "2-1"
usb_serial = "S1"
usb_vendor_id = "148f"
usb_product_id = "5572"
usb_product = "RT5572"
plugged = false
[[camera]]
ssid_hex = "ff00"
security = "sae"
password = "12345678"
frequency_mhz = 5745
signal = 12
powered = false
hidden = true
refuses = true
dhcp = false
join_s = 0.1
""")
    assert list(scenario.adapters) == ["wlan0", "wlp3s0"]
    built_in = scenario.adapters["wlp3s0"]
    assert not built_in.adapter.is_usb
    assert built_in.adapter.rfkill == "hard-blocked"
    assert built_in.adapter.identity.mac == "02:aa:00:00:00:01"
    assert built_in.facts.obstacle == 'carries the connection "Home"'
    assert built_in.facts.bands == {Band.GHZ_5}
    replaced = scenario.adapters["wlan0"]
    assert (replaced.adapter.identity.usb_serial, replaced.plugged) == ("S1", False)
    camera = scenario.cameras[b"\xff\x00"]
    assert (camera.security, camera.frequency_mhz, camera.signal_percent) == (Security.SAE, 5745, 12)
    assert (camera.powered, camera.hidden, camera.refuses, camera.dhcp) == (False, True, True, False)
    assert scenario.times.give_up_s == 20
    assert len(scenario.cameras) == 3


def test_every_key_of_a_camera_with_a_driver() -> None:
    scenario = parse_scenario("""
[[camera]]
ssid = "a"
driver = "insta360"
camera_model = "Insta360 X3"
serial_number = "S1"
firmware_version = "v1"
battery = 7
charging = true
card_gb = 0.5
card_free_gb = 0.25
recording = true
clock_offset_s = -1.5
[[camera]]
ssid = "b"
driver = "gopro"
[[camera]]
ssid = "c"
""")
    emulated = scenario.cameras[b"a"].emulated
    assert emulated == (
        CameraDriver.INSTA360,
        CameraSettings(
            model="Insta360 X3",
            serial_number="S1",
            firmware_version="v1",
            ssid="a",
            battery=7,
            charging=True,
            card_bytes=500_000_000,
            card_free_bytes=250_000_000,
            recording=True,
            clock_offset_s=-1.5,
        ),
    )
    usual = scenario.cameras[b"b"].emulated
    assert usual is not None
    assert (usual[1].model, usual[1].battery, usual[1].card_bytes) == ("HERO12 Black", 80, 64_000_000_000)
    assert scenario.cameras[b"c"].emulated is None


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("adapters = 3", "adapters", "unknown"),
        ('adapter_count = "3"', "adapter_count", "a whole number"),
        ("adapter_count = true", "adapter_count", "not true"),
        ("[times]\njoin = 1", "times.join", "join_s"),
        ("[times]\njoin_s = -1", "times.join_s", "0 to 86400 seconds, not"),
        ("[times]\njoin_s = inf", "times.join_s", "0 to 86400 seconds, not"),
        ("times = 3", "times", "a table"),
        ("[[adapter]]", "adapter[0]", "the key name"),
        ('[[adapter]]\nname = "wlan0"\nspeed = 3', "adapter[0].speed", "unknown"),
        ('[[adapter]]\nname = "a/b"', "adapter[0].name", "an interface name"),
        ('[[adapter]]\nname = "wlan0"\nmac = "x"', "adapter[0].mac", "a MAC address"),
        (
            '[[adapter]]\nname = "wlan0"\nbands = ["7GHz"]',
            "adapter[0].bands[0]",
            '"2.4GHz", "5GHz" or "6GHz"',
        ),
        ('[[adapter]]\nname = "wlan0"\nusb = false\nusb_port = "1-1"', "adapter[0].usb", "USB port"),
        ('[[adapter]]\nname = "wlan0"\n[[adapter]]\nname = "wlan0"', "adapter[1].name", "twice"),
        ("[adapter]", "adapter", "a list"),
        ("[[camera]]", "camera[0].ssid", "either ssid or ssid_hex"),
        ('[[camera]]\nssid = ""', "camera[0].ssid", "1 to 32 bytes"),
        ('[[camera]]\nssid = "a"\nssid_hex = "61"', "camera[0].ssid_hex", "beside ssid"),
        ('[[camera]]\nssid_hex = "6"', "camera[0].ssid_hex", "hexadecimal"),
        ('[[camera]]\nssid = "a"\nsecurity = "wep"', "camera[0].security", '"wpa2", "sae" or "open"'),
        ('[[camera]]\nssid = "a"\nsecurity = "sae"', "camera[0].security", "password is empty"),
        ('[[camera]]\nssid = "a"\nband = "5GHz"\nfrequency_mhz = 2412', "camera[0].frequency_mhz", "5GHz"),
        ('[[camera]]\nssid = "a"\nsignal = 101', "camera[0].signal", "0 to 100"),
        ('[[camera]]\nssid = "a"\n[[camera]]\nssid = "a"', "camera[1].ssid", "twice"),
        (
            '[[camera]]\nssid = "a"\ndriver = "dji"',
            "camera[0].driver",
            " or ".join(f'"{driver}"' for driver in CameraDriver).replace(
                " or ", ", ", len(CameraDriver) - 2
            ),
        ),
        ('[[camera]]\nssid = "a"\nbattery = 5', "camera[0].battery", "nothing where there is no driver"),
        ('[[camera]]\nssid = "a"\ndriver = "osc"\nbattery = 101', "camera[0].battery", "0 to 100"),
        (
            '[[camera]]\nssid = "a"\ndriver = "osc"\ncard_gb = 1\ncard_free_gb = 2',
            "camera[0].card_free_gb",
            "at most card_gb",
        ),
        (
            '[[camera]]\nssid = "a"\ndriver = "osc"\npowered = false\nrecording = true',
            "camera[0].recording",
            "false while it is off",
        ),
        ("adapter_count =", "", "is not TOML"),
    ],
)
def test_what_is_wrong_is_said(text: str, key: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse_scenario(text, "/etc/some.toml")
    assert str(error.value).startswith(f"/etc/some.toml: {key}")
    assert expected in str(error.value)


def test_a_password_is_never_quoted() -> None:
    with pytest.raises(ScenarioError) as error:
        parse_scenario('[[camera]]\nssid = "a"\npassword = "short"')
    assert "camera[0].password" in str(error.value)
    assert "short" not in str(error.value)


def test_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "world.toml"
    with pytest.raises(ScenarioError, match=r"world\.toml: cannot be read"):
        load_scenario(path)
    path.write_text("x = 1")
    with pytest.raises(ScenarioError, match=r"world\.toml: x: unknown key"):
        load_scenario(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ScenarioError, match=r"world\.toml: is not TOML: expected UTF-8"):
        load_scenario(path)


@given(st.text(max_size=200))
def test_no_text_does_worse_than_an_error(text: str) -> None:
    with suppress(ScenarioError):
        parse_scenario(text)
