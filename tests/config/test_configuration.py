"""The configuration: strict, and clear about what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wifimgrd.config.configuration import (
    Config,
    ConfigError,
    ConnectGroup,
    Mavlink,
    Reserve,
    TileSource,
    load,
    load_models,
)
from wifimgrd.daemon._live_settings import hub_settings
from wifimgrd.domain.camera_model import CameraModels
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.group import Group
from wifimgrd.domain.link_steps import LinkRules, LinkStep
from wifimgrd.domain.recovery import RecoveryStep

SOURCE = "[[tiles.source]]\ntileset = 't'\n"
GROUP = "[[connect.group]]\nname = 'a'\ndevices = [1]"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "wifimgrd.toml"


def test_an_empty_file_gives_the_defaults(file: Path) -> None:
    file.write_text("")
    assert load(file) == Config()


def test_the_shipped_file_says_the_defaults() -> None:
    assert load(Path(__file__).parents[2] / "packaging" / "wifimgrd.toml") == Config()


def test_every_key_is_read(file: Path) -> None:
    file.write_text(
        """
        platform.name = "hub"
        backend.name = "simulated"
        connect = {on_create = false, timeout_s = 5, auto_reconnect = false}
        link.grace_s = 1.5
        cameras.network = "172.20.0.0/16"
        cameras.share = ["192.168.8.0/24"]
        catalog.strict = true
        radio.country = "DE"
        [interfaces]
        match = "any"
        exclude = ["wlan9", "wlp*"]
        [[interfaces.reserve]]
        device = 3
        mac = "00:C0:CA:12:34:56"
        [[interfaces.reserve]]
        device = "Nose"
        usb_port = "1-1.4"
        [http]
        listen = "[::1]:80"
        allowed_hosts = ["hub.local"]
        allowed_origins = ["https://map.example"]
        token_file = "/run/token"
        [mavlink]
        connection = "udpin:[::]:14550"
        system = 7
        devices = ["Nose", 3, "3"]
        record_while_armed = true
        signing_key_file = "key"
        insecure = true
        [[tiles.source]]
        tileset = "world"
        type = "pmtiles"
        path = "/srv/world.pmtiles"
        missing = "blank"
        [[tiles.source]]
        tileset = "world"
        type = "upstream"
        url = "http://127.0.0.1:8081/{z}/{x}/{y}.png"
        """
    )
    config = load(file)
    assert config.interfaces.reserve == (Reserve(3, "00:C0:CA:12:34:56"), Reserve("Nose", usb_port="1-1.4"))
    assert (config.platform.name, config.connect.timeout_s, config.link.grace_s) == ("hub", 5.0, 1.5)
    assert config.cameras.network == "172.20.0.0/16"
    assert config.cameras.share == ("192.168.8.0/24",)
    assert config.http.token_file == Path("/run/token")
    assert config.mavlink == Mavlink(
        "udpin:[::]:14550", 7, ("Nose", 3, "3"), True, Path("key"), insecure=True
    )
    assert config.tiles.source == (
        TileSource("world", "pmtiles", Path("/srv/world.pmtiles"), missing="blank"),
        TileSource("world", "upstream", url="http://127.0.0.1:8081/{z}/{x}/{y}.png"),
    )


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("nonsense = 1", "nonsense", "unknown key"),
        ("[connect]\ntimeout = 1", "connect.timeout", "unknown key"),
        ('[connect]\ntimeout_s = "20"', "connect.timeout_s", "expected a number"),
        ("[connect]\ntimeout_s = true", "connect.timeout_s", "expected a number"),
        ("[connect]\ntimeout_s = 0", "connect.timeout_s", "1 to 600 seconds"),
        ("[connect]\non_create = 1", "connect.on_create", "expected true or false"),
        ("connect = 1", "connect", "expected a table"),
        ('[interfaces]\nexclude = "wlan0"', "interfaces.exclude", "expected a list"),
        ("[interfaces]\nexclude = [1]", "interfaces.exclude[0]", "expected a text"),
        ('[interfaces]\nmatch = "pci"', "interfaces.match", '"usb" or "any"'),
        (
            '[[interfaces.reserve]]\ndevice = ""\nusb_port = "1-1"',
            "interfaces.reserve[0].device",
            "the id or the name of a device",
        ),
        ("[[interfaces.reserve]]\ndevice = 1", "interfaces.reserve[0].mac", "either mac or usb_port"),
        ('[[interfaces.reserve]]\nmac = "00:00:00:00:00:01"', "interfaces.reserve[0]", "the key device"),
        ("[[connect.group]]\ndevices = [1]", "connect.group[0]", "the key name"),
        ("[[connect.group]]\nname = 'a b'\ndevices = [1]", "connect.group[0].name", "a plain name"),
        ("[[connect.group]]\nname = 'a/b'\ndevices = [1]", "connect.group[0].name", "a plain name"),
        ("[[connect.group]]\nname = 'a'\ndevices = []", "connect.group[0].devices", "the ids or the names"),
        ("[[connect.group]]\nname = 'a'\ndevices = [1, '']", "connect.group[0].devices[1]", "the id or"),
        ("[[connect.group]]\nname = 'a'\ndevices = [true]", "connect.group[0].devices[0]", "a text"),
        (f"{GROUP}\n{GROUP}", "connect.group[1].name", "another name than a group before"),
        ('[recovery]\nsteps = ["reboot"]', "recovery.steps", '"quarantine", "rejoin"'),
        ("[recovery]\nsilent_link_s = 9.9", "recovery.silent_link_s", "10 to 3600 seconds, or 0"),
        ("[recovery]\nsilent_link_s = 3601", "recovery.silent_link_s", "10 to 3600 seconds"),
        ("[recovery]\nsilent_link_s = -1", "recovery.silent_link_s", "10 to 3600 seconds"),
        ("[recovery]\nsilent_link_s = nan", "recovery.silent_link_s", "10 to 3600 seconds"),
        ('[recovery]\npower_ports = "1-1"', "recovery.power_ports", "a list"),
        (
            '[recovery]\npower_ports = ["1-1", "usb1"]',
            "recovery.power_ports[1]",
            'a USB port such as "1-1.4"',
        ),
        ('[recovery]\npower_ports = ["1-1/../2"]', "recovery.power_ports[0]", "a USB port"),
        ('[recovery]\npower_ports = ["1-1", "1-1"]', "recovery.power_ports", "each port once"),
        ("[recovery]\ncamera_steps = 1", "recovery.camera_steps", "true or false"),
        ('[radio]\ncountry = "de"', "radio.country", "two capital letters"),
        ('[cameras]\nnetwork = "10.77.0.1/24"', "cameras.network", "/16 to /30"),
        ('[cameras]\nshare = "192.168.8.0/24"', "cameras.share", "a list"),
        ('[cameras]\nshare = ["192.168.8.1/24"]', "cameras.share[0]", "/8 to /32"),
        ('[cameras]\nshare = ["192.168.8.0/24", "0.0.0.0/0"]', "cameras.share[1]", "/8 to /32"),
        ('[cameras]\nshare = ["10.0.0.0/8"]', "cameras.share[0]", "does not overlap the cameras' own"),
        ('[cameras]\naccept = "udp/8554"', "cameras.accept", "a list"),
        ('[cameras]\naccept = ["8554"]', "cameras.accept[0]", 'a port such as "udp/8554"'),
        ('[cameras]\naccept = ["udp/8554", "sctp/1"]', "cameras.accept[1]", 'a port such as "udp/8554"'),
        ('[cameras]\naccept = ["udp/0"]', "cameras.accept[0]", 'a port such as "udp/8554"'),
        ('[cameras]\naccept = ["udp/08554"]', "cameras.accept[0]", 'a port such as "udp/8554"'),
        ('[cameras]\naccept = ["tcp/65536"]', "cameras.accept[0]", 'a port such as "udp/8554"'),
        ('[cameras]\naccept = ["udp/1", "udp/1"]', "cameras.accept", "each port once"),
        ('[cameras]\nnetwork = ""\nshare = ["10.0.0.0/8"]', "cameras.share[0]", "`network` is empty"),
        ('[mavlink]\nconnection = "tcp:127.0.0.1:5760"', "mavlink.connection", '"udpout:127.0.0.1:14550"'),
        ('[mavlink]\nconnection = "udpout:127.0.0.1"', "mavlink.connection", "an IP address and a port"),
        ('[mavlink]\nconnection = "udpout:127.0.0.1:0"', "mavlink.connection", "an IP address and a port"),
        ('[mavlink]\nconnection = "udpout:127.0.0.1:65536"', "mavlink.connection", "an IP address and"),
        ('[mavlink]\nconnection = "udpin:boat.local:14550"', "mavlink.connection", "an IP address and"),
        ('[mavlink]\nconnection = "udpout:192.0.2.1:14550"', "mavlink.connection", "a loopback address"),
        (
            '[mavlink]\nconnection = "udpin:0.0.0.0:14550"',
            "mavlink.connection",
            "signing_key_file or insecure",
        ),
        ('[mavlink]\nconnection = "udpin:[::]:14550"', "mavlink.connection", "a loopback address"),
        ("[mavlink]\nconnection = 14550", "mavlink.connection", "a text"),
        ("[mavlink]\nsystem = 0", "mavlink.system", "1 to 255"),
        ("[mavlink]\nsystem = 256", "mavlink.system", "1 to 255"),
        ('[mavlink]\nsystem = "1"', "mavlink.system", "a whole number"),
        ("[mavlink]\ndevices = 1", "mavlink.devices", "a list"),
        ("[mavlink]\ndevices = [1, 2, 3, 4, 5, 6, 7]", "mavlink.devices", "at most 6 ids or names"),
        ('[mavlink]\ndevices = ["Nose", "Nose"]', "mavlink.devices", "each once"),
        ('[mavlink]\ndevices = ["Nose", ""]', "mavlink.devices[1]", "the id or the name of a device"),
        ("[mavlink]\ndevices = [1.5]", "mavlink.devices[0]", "a text"),
        ("[mavlink]\nrecord_while_armed = 1", "mavlink.record_while_armed", "true or false"),
        ("[mavlink]\nsigning_key_file = true", "mavlink.signing_key_file", "a path"),
        ('[mavlink]\ninsecure = "yes"', "mavlink.insecure", "true or false"),
        ("[mavlink]\nkey = 1", "mavlink.key", "unknown key"),
        ('[http]\nlisten = "8080"', "http.listen", "an address and a port"),
        ('[http]\nlisten = "::1:80"', "http.listen", "an address and a port"),
        ('[http]\nfleet_broker = "https://broker.example"', "http.fleet_broker", "an address such as"),
        ('[http]\nfleet_broker = "wss://me:secret@broker.example"', "http.fleet_broker", "without user"),
        ('[http]\nfleet_broker = "wss://broker.example/?x=1"', "http.fleet_broker", "an address such as"),
        ('[http]\nfleet_broker = "wss://a; script-src *"', "http.fleet_broker", "an address such as"),
        ('[http]\nfleet_broker = "wss://broker.example:99999"', "http.fleet_broker", "an address such as"),
        ('[http]\nfleet_broker = "wss://[::1]:8084"', "http.fleet_broker", "IPv6"),
        ('[http]\nfleet_broker = "ws://broker.example"', "http.fleet_broker", "a loopback address"),
        ('[http]\nfleet_broker = "ws://localhost.example"', "http.fleet_broker", "a loopback address"),
        ("[http]\nfleet_broker = true", "http.fleet_broker", "a text"),
        ('[http]\nallowed_origins = ["*"]', "http.allowed_origins[0]", "an origin such as"),
        ('[http]\nallowed_origins = ["http://a", "b"]', "http.allowed_origins[1]", "an origin such as"),
        (f"{SOURCE}type = 'zip'\npath = '/a'", "tiles.source[0].type", '"folder", "mbtiles"'),
        (f"{SOURCE}type = 'folder'", "tiles.source[0].path", "a path"),
        (f"{SOURCE}type = 'upstream'", "tiles.source[0].url", "{z}, {x}, {y}"),
        (f"{SOURCE}type = 'upstream'\nurl = 'http://h/{{z}}/{{x}}'", "tiles.source[0].url", "{z}, {x}, {y}"),
        (
            f"{SOURCE}type = 'folder'\npath = '/a'\nmissing = 200",
            "tiles.source[0].missing",
            '404, 204 or "blank"',
        ),
        (
            f"{SOURCE}type = 'folder'\npath = '/a'\nmissing = 'x'",
            "tiles.source[0].missing",
            '404, 204 or "blank"',
        ),
        ("[[tiles.source]]\ntileset = '../a'\ntype = 'folder'", "tiles.source[0].tileset", "a plain name"),
        ('[platform]\nname = "a/b"', "platform.name", "letters, digits"),
    ],
)
def test_a_mistake_names_file_key_and_what_was_expected(
    file: Path, text: str, key: str, expected: str
) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(file)
    said = str(caught.value)
    assert said.startswith(f"{file}: {key}")
    assert expected in said
    assert re.search(r" \(at line [0-9]\)$", said)


@pytest.mark.parametrize(
    "keys",
    [
        'connection = "udpout:127.0.0.1:14550"',
        'connection = "udpout:localhost:14550"',
        'connection = "udpin:[::1]:14550"',
        'connection = "udpout:192.0.2.1:14550"\ninsecure = true',
        'connection = "udpin:0.0.0.0:14550"\nsigning_key_file = "key"',
        "insecure = true",
    ],
)
def test_cameras_are_shown_on_this_host_or_with_a_key_or_by_decision(file: Path, keys: str) -> None:
    file.write_text(f"[mavlink]\n{keys}\n")
    assert load(file).mavlink.insecure is ("insecure" in keys)


def test_drop_ins_win_by_key_and_add_to_arrays_of_tables(file: Path) -> None:
    file.write_text('[link]\ngrace_s = 1\n[[interfaces.reserve]]\ndevice = 1\nusb_port = "1-1"\n')
    folder = file.with_name("wifimgrd.toml.d")
    folder.mkdir()
    (folder / "10.toml").write_text("[link]\ngrace_s = 2\n")
    (folder / "20.toml").write_text('[[interfaces.reserve]]\ndevice = 2\nusb_port = "1-2"\n')
    config = load(file)
    assert config.link.grace_s == 2
    assert [one.device for one in config.interfaces.reserve] == [1, 2]


def test_groups_have_ids_and_names_in_the_order_of_the_files(file: Path) -> None:
    file.write_text('[[connect.group]]\nname = "nose"\ndevices = ["Nose", 3, "3"]\n')
    folder = file.with_name("wifimgrd.toml.d")
    folder.mkdir()
    (folder / "10.toml").write_text(GROUP)
    config = load(file)
    assert config.connect.group == (ConnectGroup("nose", ("Nose", 3, "3")), ConnectGroup("a", (1,)))
    assert hub_settings(config, CameraModels()).groups == (
        Group("nose", ("Nose", DeviceId(3), "3")),
        Group("a", (DeviceId(1),)),
    )
    (folder / "20.toml").write_text(GROUP)
    with pytest.raises(ConfigError, match=r"20\.toml: connect\.group\[2\]\.name: expected another name"):
        load(file)


def test_a_mistake_in_a_group_has_its_line(file: Path) -> None:
    file.write_text(f"{GROUP}\n\n{GROUP.replace('[1]', '[1, 2.5]')}\n")
    with pytest.raises(ConfigError, match=r"connect\.group\[1\]\.devices\[1\]: .* \(at line 7\)$"):
        load(file)


def test_a_mistake_in_a_drop_in_names_the_drop_in(file: Path) -> None:
    file.write_text("")
    folder = file.with_name("wifimgrd.toml.d")
    folder.mkdir()
    (folder / "10.toml").write_text("nonsense = 1")
    with pytest.raises(ConfigError, match=r"10\.toml: nonsense"):
        load(file)


def test_files_that_contradict_each_other_are_named(file: Path) -> None:
    file.write_text('[cameras]\nnetwork = "172.20.0.0/16"\n')
    folder = file.with_name("wifimgrd.toml.d")
    folder.mkdir()
    (folder / "10.toml").write_text('[cameras]\nshare = ["172.20.1.0/24"]\n')
    with pytest.raises(ConfigError) as caught:
        load(file)
    said = f"{file}, {folder / '10.toml'}: cameras.share[0]: expected a network that does not overlap"
    assert str(caught.value).startswith(said)


def test_what_cannot_be_read_is_said(file: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(file)
    file.write_text("= =")
    with pytest.raises(ConfigError, match="is not TOML"):
        load(file)
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="is not TOML"):
        load(file)


def test_models_of_ones_own_lie_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "catalog.d").mkdir()
    own = tmp_path / "catalog.d" / "own.toml"
    own.write_text('[[model]]\ncodename = "own"\ndevice_name = "Own"\n')
    assert load_models(tmp_path / "hub.toml")["own"].device_name == "Own"
    own.write_text('[[model]]\ncodename = "own"\n')
    with pytest.raises(ConfigError, match=re.escape(f"{own}: model[0]: expected the key device_name")):
        load_models(tmp_path / "hub.toml")


def test_the_rules_of_recovery_are_those_of_the_file(file: Path) -> None:
    file.write_text(
        """
        [recovery]
        steps = ["reboot-camera", "rescan", "rejoin"]
        silent_link_s = 10
        power_ports = ["1-1", "1-1.4"]
        camera_steps = true
        """
    )
    settings = hub_settings(load(file), CameraModels())
    assert settings.recovery.steps == {RecoveryStep.RESCAN}
    assert settings.link_recovery == LinkRules(
        frozenset({LinkStep.REJOIN, LinkStep.REBOOT_CAMERA}), 10, frozenset({"1-1", "1-1.4"}), True
    )
    assert hub_settings(Config(), CameraModels()).recovery.steps == set(RecoveryStep)
    assert hub_settings(Config(), CameraModels()).link_recovery == LinkRules()


def test_with_recovery_switched_off_no_step_is_taken_without_a_command(file: Path) -> None:
    file.write_text("recovery.enabled = false")
    settings = hub_settings(load(file), CameraModels())
    assert settings.recovery.steps == set()
    assert settings.link_recovery.steps == set()
    assert settings.link_recovery.silent_link_s == 0
    file.write_text("recovery.silent_link_s = 0")
    assert hub_settings(load(file), CameraModels()).link_recovery == LinkRules(silent_link_s=0)
