"""A report names no network, device or adapter, whatever they are called and however programs write it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.cli.running import wifimgrctl
from tests.processes import Hub
from wifimgrd.config.configuration import (
    Config,
    Connect,
    ConnectGroup,
    Http,
    Interfaces,
    Mavlink,
    Mqtt,
    Reserve,
    Tiles,
    TileSource,
)
from wifimgrd.daemon._report import Facts, report_text
from wifimgrd.domain.device import DeviceId, Ssid
from wifimgrd.domain.history import HistoryKind, HistoryRow
from wifimgrd.domain.records import CameraRecord, DeviceRecord, InterfaceRecord, ServiceRecord
from wifimgrd.report.anonymize import Anonymizer
from wifimgrd.report.sections import report, state_of, with_disks
from wifimgrd.report.settings import hide_settings

MAC = bytes.fromhex("02ab5c0d9e11")


def eui64(mac: bytes) -> str:
    """The last 64 bits of the IPv6 address that the kernel makes of a MAC address."""
    data = bytes([mac[0] ^ 2, *mac[1:3], 0xFF, 0xFE, *mac[3:]])
    return ":".join(f"{int.from_bytes(data[at : at + 2]):x}" for at in (0, 2, 4, 6))


def wpa_escaped(data: bytes) -> str:
    """As wpa_supplicant's printf_encode writes."""
    letters = {0x22: '\\"', 0x5C: "\\\\", 0x1B: "\\e", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}
    return "".join(
        letters.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}") for byte in data
    )


def glib_escaped(data: bytes) -> str:
    """As g_strescape writes."""
    letters = {0x22: '\\"', 0x5C: "\\\\", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v"}
    return "".join(letters.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in data)


def logged(name: str, ssid: bytes, mac: bytes) -> Mapping[str, str]:
    """What programs print of a device, each in its own spelling."""
    text = ssid.decode("utf-8", "replace")
    hexadecimal = mac.hex()
    return {
        "Units": f'Status: "{name} is connected"',
        "NetworkManager's devices": f"wlx{hexadecimal}:wifi:connected:{text}",
        "USB devices": f"Bus 001 Device 004: ID 0bda:8812 adapter {hexadecimal.upper()}",
        "Regulatory domain": f"{mac.hex('-')} {'.'.join(hexadecimal[at : at + 4] for at in (0, 4, 8))}",
        "Journal of wifimgrd": "\n".join(
            [
                f'device 1: the network "{Ssid(ssid).printable}" is not on the air: switched off?',
                f"device_created name={name!r} ssid={ssid!r} other={name!a}",
                json.dumps({"name": name, "ssid": text, "ssid_hex": ssid.hex()}),
                json.dumps({"name": name, "ssid": text}, ensure_ascii=False),
                json.dumps(json.dumps({"name": f"{name}"})),
            ]
        ),
        "Journal of NetworkManager and wpa_supplicant": "\n".join(
            [
                f"wlan0: Trying to associate with {mac.hex(':')} (SSID='{wpa_escaped(ssid)}' freq=2412 MHz)",
                f'wlan0: CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid="{wpa_escaped(ssid)}" auth_failures=1',
                f"device (wlan0): connection '{glib_escaped(ssid)}' has security, and secrets exist.",
                f"<info> Config: added 'ssid' value '{text}'",
                f"wlan0: SME: ssid {ssid.hex(':')} {ssid.hex().upper()}",
                f"address fe80::{eui64(mac)} and 2001:db8:1:2:{eui64(mac)} on wlan0",
                f"EUI-64 {(mac[:3] + bytes([255, 254]) + mac[3:]).hex('-')}",
            ]
        ),
    }


def made(name: str, ssid: bytes, mac: bytes) -> str:
    """All of a report, as it is printed and as JSON."""
    failed = DeviceRecord(
        1,
        name,
        "x",
        ssid=ssid,
        connection_error_code="not-found",
        connection_error_message=f'"{Ssid(ssid).printable}" is away',
    )
    adapter = InterfaceRecord("wlan0", mac_address=mac.hex(":"))
    aliases = Anonymizer(b"0123456789abcdef")
    state = state_of(ServiceRecord(), {"wlan0": adapter}, [failed])
    sections = report(aliases, [failed], state, logged(name, ssid, mac))
    reported = "\n".join([*sections.values(), json.dumps(sections), json.dumps(sections, ensure_ascii=False)])
    reported += of_the_daemon(failed, adapter)
    return re.sub("(?:SSID|NAME|MAC|HOST)-[0-9a-f]{6}", "<alias>", reported)


def of_the_daemon(device: DeviceRecord, adapter: InterfaceRecord) -> str:
    """The daemon's own report, with each place in it that can have a name."""
    reserved = (Reserve(device.name or "x", mac=adapter.mac_address or ""),)
    config = Config(interfaces=Interfaces(reserve=reserved), http=Http(allowed_hosts=(device.name,)))
    row = HistoryRow(
        1,
        1,
        HistoryKind.FAILURE,
        DeviceId(1),
        device.name,
        "wlan0",
        "x",
        device.connection_error_message or "",
    )
    service = ServiceRecord(backend_reason=f'"{device.name}" (device 1)')
    return report_text(
        Facts(service, {"wlan0": adapter}, [device], config, [row], {"run": 1}, []), b"key", "host-of-test"
    )


INNOCUOUS = made("Zq", b"Zq", b"\2\0\0\0\0\1")
_pieces = st.sampled_from(
    ["'", '"', "\\", "\\x", "\\'", "%", "é", "\u2028", "SSID", "NAME-", "$&", "MAC-0", " "]
)
_text = st.lists(
    _pieces | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4), max_size=6
).map("".join)


@given(_text, st.binary(max_size=8) | _text.map(str.encode), st.binary(min_size=3, max_size=3))
def test_no_name_or_address_is_in_any_section(name: str, ssid: bytes, tail: bytes) -> None:
    ssid, mac = ssid[:32], MAC[:3] + tail
    assume(len(name.strip()) >= 3)
    assume(len(ssid.strip()) >= 3)
    reported = made(name, ssid, mac)
    forms = {name, json.dumps(name)[1:-1], repr(name)[1:-1]}
    forms |= {ssid.decode("utf-8", "replace"), wpa_escaped(ssid), glib_escaped(ssid), Ssid(ssid).printable}
    forms |= {ssid.hex(), ssid.hex().upper(), ssid.hex(":"), repr(ssid)[2:-1]}
    forms |= {mac.hex(), mac.hex().upper(), mac.hex(":"), mac.hex("-"), eui64(mac)}
    assert not {form for form in forms if form in reported and form not in INNOCUOUS}


@pytest.mark.parametrize("name", ["a", "7", "-", '"'])
def test_a_name_of_one_character_is_no_value_of_the_hubs_state(name: str) -> None:
    record = DeviceRecord(1, name, "model", ssid=name.encode())
    sections = report(Anonymizer(b"key"), [record], state_of(ServiceRecord(), {}, [record]), {})
    [device] = json.loads(sections["Hub"])["devices"]
    assert device["name"].startswith("SSID-")
    assert device["connection_settings"]["ssid"].startswith("SSID-")


def test_a_serial_number_is_hidden_in_the_state_and_in_journals() -> None:
    first = DeviceRecord(1, "Front", "gopro-hero12", camera=CameraRecord(serial_number="C3501325012345"))
    second = DeviceRecord(2, "Left", "insta360-x4", camera=CameraRecord(model="Insta360 X4"))
    journal = {"Journal of wifimgrd": "its name is GoPro C3501325012345"}
    sections = report(
        Anonymizer(b"key"), [first, second], state_of(ServiceRecord(), {}, [first, second]), journal
    )
    assert "C3501325012345" not in "".join(sections.values())
    one, other = json.loads(sections["Hub"])["devices"]
    assert one["camera"]["serial_number"].startswith("SERIAL-")
    assert other["camera"]["serial_number"] is None
    assert other["camera"]["model"] == "Insta360 X4"


@pytest.mark.parametrize(
    "line", ["Bus 001 Device 004: ID 0bda:1a2b Realtek DISK", "Bus 1 Device 4: ID 0bda:1a2b"]
)
def test_an_adapter_that_shows_itself_as_a_disk_is_named(line: str) -> None:
    told = with_disks(f"Bus 001 Device 001: ID 1d6b:0002 Linux hub\n{line}")
    assert told.splitlines()[2:] == [
        "0bda:1a2b is a Wi-Fi adapter that shows the disk with its Windows driver: apt install usb-modeswitch"
    ]


def test_other_devices_are_no_adapters_in_disguise() -> None:
    plain = "Bus 001 Device 004: ID 0bda:1a2 0bda:1a2b disk\nlsusb: No such file or directory"
    assert with_disks(plain) == plain


def test_an_alias_is_not_replaced_by_another() -> None:
    aliases = Anonymizer(b"key")
    aliases.hide("SSID", ["Camera", "SSID", "NAME"])
    aliases.hide("NAME", ["NAME-2", "MAC"])
    assert aliases.applied("Camera at 02:ab:5c:0d:9e:11") == (
        f"{aliases.of('SSID', 'Camera')} at {aliases.of('MAC', '02ab5c0d9e11')}"
    )


@pytest.mark.parametrize(
    "spelling", ["02ab5c0d9e11", "02AB5C0D9E11", "02ab.5c0d.9e11", "02-ab-5c-ff-fe-0d-9e-11"]
)
def test_every_form_of_an_address_has_the_same_alias(spelling: str) -> None:
    aliases = Anonymizer(b"key")
    assert aliases.applied(f"<{spelling}>") == f"<{aliases.of('MAC', '02ab5c0d9e11')}>"
    assert aliases.applied(f"fe80::{eui64(MAC)}%wlan0") == f"{aliases.of('MAC', '02ab5c0d9e11')}%wlan0"


@pytest.mark.parametrize(
    "text", ["2026-11-21T14:03:22", "::1", "fe80::1", "10.77.0.1", "1-1.4:1.0", "0bda:8812"]
)
def test_times_and_other_addresses_stay(text: str) -> None:
    assert Anonymizer(b"key").applied(text) == text


HOSTILE = 'Martha\'s "Tail" \\ \\x41'
RARE = b"\xffM\\'\"x"


async def test_the_command_hides_hostile_names_in_every_section(hub: Hub, tmp_path: Path) -> None:
    await hub.create(1, name=HOSTILE)
    await hub.create(2, ssid=RARE)
    await hub.until(1, "connected")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "lines").write_text("\n".join(logged(HOSTILE, RARE, MAC).values()) + "\n")
    for program in ("journalctl", "systemctl", "nmcli", "lsusb", "iw", "dpkg-query"):
        script = programs / program
        script.write_text(f"#!/bin/sh\nexec cat {programs}/lines\n")
        script.chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    for json_flag in ((), ("--json",)):
        ran = await wifimgrctl(hub.address, "diagnose", *json_flag, PATH=path)
        assert ran.status == 0
        assert ran.out.count("SSID-") > 6
        for trace in (
            "Martha",
            "Tail",
            "SIM-CAM",
            RARE.hex(),
            RARE.hex(":"),
            wpa_escaped(RARE),
            "9e11",
            "9e:11",
        ):
            assert trace not in ran.out


def test_what_a_removed_device_was_called_is_hidden_in_its_messages() -> None:
    aliases = Anonymizer(b"key")
    for message in (
        'device 4: the network "Old "one"" was not found',
        'device 4: the camera of "Old "one"" assigned no IP address',
        'device 4: the connection to "Old "one"" was lost',
    ):
        assert "Old" not in aliases.applied(message)


SECRETS = {
    "broker.secret.example": "its broker",
    "192.0.2.77": "another broker",
    "submarine": "its id",
    "navy": "its prefix",
    "/srv/maps/secret-bay.mbtiles": "the path of a tileset",
    "secret-bay": "the name of its file",
    "the-bay": "a tileset",
    "tiles.secret.example": "a tile server",
    "key-of-tiles": "a part of its address",
    "other-hub": "an id that was changed since",
    "newest": "another one",
    "the-villa": "the prefix of its discovery messages",
    "villa-2": "another one, of one level",
    "smith": "where a client has its answers",
    "o'neil": "where another one has them",
    "frigate": "an id in a list of topics",
    "192.0.2.78": "a ground station",
    "2001:db8::79": "one that has sent something",
    "192.0.2.80": "another one",
    "192.0.2.82": "one without the key",
}
LINES = (
    "wifimgrd-mqtt[7]: started broker=mqtts://broker.secret.example:8883 topics=navy/fleet/submarine",
    "wifimgrd-mqtt[7]: broker_connected broker=mqtts://broker.secret.example:8883 mqtt=5",
    "wifimgrd-mqtt[7]: broker_unavailable reason='cannot connect to mqtt://192.0.2.77:1883: timed out'",
    "wifimgrd-mqtt[7]: hub_id_taken reason='another hub already publishes as navy/fleet/submarine, so'",
    "wifimgrd-mqtt[7]: broker_unavailable reason='may this user write below wifimgrd/other-hub/?'",
    "wifimgrd-mqtt[7]: message_refused topic=navy/fleet/submarine/devices/1 bytes=7 reason='too large'",
    "wifimgrd-mqtt[7]: message_refused topic=homeassistant/device/wifimgrd_submarine_1/config bytes=7",
    "wifimgrd-mqtt[7]: message_refused topic=home/the-villa/device/wifimgrd_submarine_hub/config bytes=7",
    "wifimgrd-mqtt[7]: message_refused topic=villa-2/device/wifimgrd_submarine_12/config bytes=7",
    "wifimgrd-mqtt[7]: message_refused topic=clients/smith bytes=7 reason='too large'",
    "wifimgrd-mqtt[7]: message_refused topic=\"clients/o'neil 2\" bytes=7 reason='too large'",
    "wifimgrd-mqtt[7]: commands_paused topics=\"['navy/frigate/command', 'navy/frigate/devices/+/command']\"",
    "wifimgrd-mqtt[7]: broker_unavailable reason='refuses the subscription to wifimgrd/newest/claim'",
    "wifimgrd-mqtt[7]: unexpected_retained topics=12 below=navy/fleet/submarine",
    "wifimgrd-http[8]: tileset_opened tileset=the-bay path=/srv/maps/secret-bay.mbtiles version=1",
    "wifimgrd-http[8]: tileset_failed: cannot open 'secret-bay.mbtiles' in /srv/maps/secret-bay.mbtiles-wal",
    "wifimgrd-http[8]: upstream_unavailable tileset=the-bay url=https://tiles.secret.example/key-of-tiles/1.png",
    "wifimgrd-http[8]: listening addresses=\"['http://127.0.0.1:8080/']\" url=http://127.0.0.1:8080/",
    "wifimgrd-mqtt[7]: started broker=mqtt://localhost:1883 topics=wifimgrd/submarine",
    "wifimgrd-mavlink[9]: started connection=udpout:192.0.2.78:14550 system=1",
    "wifimgrd-mavlink[9]: started connection=udpin:127.0.0.1:14560 system=1",
    "wifimgrd-mavlink[9]: station_appeared address=2001:db8::79 port=14551",
    "wifimgrd-mavlink[9]: station_appeared address=192.0.2.80 port=14551",
    "wifimgrd-mavlink[9]: frame_refused reason='no signature by the key, or an old one' address=192.0.2.82",
)
KEPT = (
    "mqtts://",
    ":8883",
    "127.0.0.1:8080",
    "mqtt://localhost:1883",
    "topics=12",
    "bytes=7",
    "wifimgrd-mqtt[7]",
    "udpin:127.0.0.1:14560",
    "port=14551",
)


def test_what_is_logged_of_the_settings_is_hidden() -> None:
    text = report(Anonymizer(b"key"), [], None, {"Journal of wifimgrd": "\n".join(LINES)})[
        "Journal of wifimgrd"
    ]
    assert not [secret for secret in SECRETS if secret in text], text
    assert not [kept for kept in KEPT if kept not in text], text


def test_what_the_settings_name_is_hidden_wherever_it_stands() -> None:
    config = Config(
        http=Http(
            listen="192.0.2.8:80", allowed_hosts=("bay.example",), fleet_broker="wss://page.example:84/mqtt"
        ),
        mavlink=Mavlink("udpin:192.0.2.81:14560", devices=("the keel",), insecure=True),
        mqtt=Mqtt(broker="mqtts://broker.secret.example", hub="submarine", prefix="navy", user="captain"),
        connect=Connect(group=(ConnectGroup("deck", ("the mast", 3)),)),
        tiles=Tiles((TileSource("the-bay", "mbtiles", Path("/srv/maps/secret-bay.mbtiles")),)),
    )
    aliases = Anonymizer(b"key")
    hide_settings(aliases, config, Config())
    shown = aliases.applied(
        "certificate is not valid for 'broker.secret.example'; no such file: '/srv/maps/secret-bay.mbtiles';"
        " page.example bay.example 192.0.2.8 submarine navy captain the mast the keel 192.0.2.81; group=deck;"
        " wifimgrd homeassistant 127.0.0.1 wlan1"
    )
    for name in (
        "secret",
        "page.example",
        "bay.example",
        "192.0.2.8",
        "submarine",
        "navy",
        "captain",
        "mast",
        "keel",
        "192.0.2.81",
        "deck",
    ):
        assert name not in shown
    for name in ("wifimgrd", "homeassistant", "127.0.0.1", "wlan1"):
        assert name in shown


async def test_the_command_hides_what_is_logged_of_the_settings(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("\n".join(LINES) + "\n")
    script = tmp_path / "journalctl"
    script.write_text(f"#!/bin/sh\nexec cat {tmp_path}/lines\n")
    script.chmod(0o755)
    ran = await wifimgrctl(hub.address, "diagnose", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert ran.status == 0
    assert "broker_connected" in ran.out
    assert not [secret for secret in SECRETS if secret in ran.out]
