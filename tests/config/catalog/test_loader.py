"""The models that are shipped, those of the host's own, and files that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from wifimgrd.config import catalog
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.camera_model import (
    GENERIC,
    Addressing,
    Bluetooth,
    CameraModel,
    CameraModels,
    Evidence,
    KeepAlive,
    Probe,
    Snapshot,
    Verified,
    WakeMethod,
    closest_codename,
)
from wifimgrd.domain.link_steps import LinkStep

GOOD = '[[model]]\ncodename = "a-1"\ndevice_name = "A 1"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "models.toml"


def test_the_shipped_models() -> None:
    models = catalog.load()
    gopro = "hero5 hero6 fusion hero7 hero8 max hero9 hero10 hero11 hero11-mini hero12 hero13 max-2"
    gopro += " lit-hero mission-1 mission-1-pro"
    insta360 = "ace-pro ace-pro-2 go-3 one-x one-x2 x3 x4 x4-air x5 one-r one-rs one-rs-1-inch"
    theta = "s sc v z1 sc2 x"
    assert list(models) == [
        *(f"gopro-{name}" for name in gopro.split()),
        *(f"insta360-{name}" for name in insta360.split()),
        "novatek-camera",
        "sjcam",
        *(f"ricoh-theta-{name}" for name in theta.split()),
        "generic-wifi-camera",
    ]
    assert all(model.codename == codename and model.icon for codename, model in models.items())


def test_each_fact_of_a_shipped_model_has_its_source() -> None:
    for model in catalog.load().values():
        said_nothing = CameraModel(model.codename, model.device_name, model.icon)
        assert model == said_nothing or all(source.startswith("https://") for source in model.sources)
        assert model == said_nothing or model.sources


def test_nobody_is_said_to_have_verified_what_the_hub_does_not_do() -> None:
    for model in catalog.load().values():
        said, bluetooth = model.verified, model.bluetooth
        assert said.wake is Evidence.NONE or bluetooth
        assert said.pair is Evidence.NONE or (bluetooth and bluetooth.pairing)
        assert {said.state, said.record, said.clock} == {Evidence.NONE} or model.control
        assert said.snapshot is Evidence.NONE or model.snapshot


def test_what_a_camera_can_do_against_a_dead_link_is_that_of_its_model() -> None:
    models = catalog.load()
    assert models["gopro-hero9"].recovery_steps == (LinkStep.CAMERA_ACCESS_POINT,)
    assert models["gopro-hero13"].recovery_steps == (LinkStep.CAMERA_ACCESS_POINT, LinkStep.REBOOT_CAMERA)
    assert not models["ricoh-theta-x"].recovery_steps


def test_no_two_models_advertise_one_number() -> None:
    numbers = [number for model in catalog.load().values() for number in model.model_ids]
    assert len(numbers) == len(set(numbers))


def test_a_model_that_stays_awake_only_when_spoken_to() -> None:
    model = catalog.load()["gopro-hero11"]
    assert model.camera_address == "10.5.5.9"
    assert model.keep_alive == KeepAlive(3.0, 8080, "/gopro/camera/keep_alive")


def test_a_model_that_sends_its_preview_by_itself() -> None:
    models = catalog.load()
    assert {name for name, model in models.items() if model.pushes == ("udp/8554",)} == {
        name for name in models if name.startswith("gopro-")
    }


def test_each_shipped_model_gives_stills_or_it_is_said_why_not() -> None:
    models = catalog.load()
    giving = {codename for codename, model in models.items() if model.snapshot}
    assert giving == {codename for codename in models if codename.startswith("ricoh-theta-")}
    for codename, model in models.items():
        assert bool(model.no_snapshot) is (codename not in giving | {GENERIC.codename})


def test_a_theta_is_asked_for_one_only_while_it_does_not_record() -> None:
    command = '{"name":"camera.getLivePreview","parameters":{}}'
    for model in catalog.load().values():
        if model.snapshot:
            assert model.snapshot == Snapshot("/osc/commands/execute", command, while_recording=False)


def test_of_a_generic_camera_nothing_is_known() -> None:
    generic = catalog.load()[GENERIC.codename]
    assert generic == CameraModel(GENERIC.codename, GENERIC.device_name, generic.icon)


def test_everything_that_a_model_can_say(file: Path) -> None:
    file.write_text(
        GOOD
        + """
        icon = "https://cameras.example/a.svg"
        bands = ["5GHz", "6GHz"]
        camera_address = "192.168.1.1"
        addressing = "static"
        local_address = "192.168.1.30/24"
        hidden = true
        pushes = ["udp/8554", "tcp/9000"]
        probe = { port = 554 }
        keep_alive = { port = 8554, payload = "awake\\n", interval_s = 2.5 }
        snapshot = { path = "/still.jpg?size=small", body = '{"size": 1}', while_recording = false }
        sources = ["https://cameras.example/"]
        model_ids = [7, 8]
        verified = { state = "maker", record = "third-party" }
        [model.wizard]
        intro = "Press the button."
        ssid = { name = "Network" }
        password = { name = "Key", required = false }
        """
    )
    model = catalog.read([file])["a-1"]
    assert model.bands == (Band.GHZ_5, Band.GHZ_6)
    assert (model.addressing, model.local_address) == (Addressing.STATIC, "192.168.1.30/24")
    assert model.hidden
    assert model.pushes == ("udp/8554", "tcp/9000")
    assert model.probe == Probe(554)
    assert model.keep_alive == KeepAlive(2.5, 8554, payload="awake\n")
    assert model.snapshot == Snapshot("/still.jpg?size=small", '{"size": 1}', while_recording=False)
    assert model.model_ids == (7, 8)
    assert model.verified == Verified(state=Evidence.MAKER, record=Evidence.THIRD_PARTY)
    assert model.wizard.intro == "Press the button."
    assert (model.wizard.ssid.name, model.wizard.password.required) == ("Network", False)


def test_the_defaults_of_a_file_are_for_all_its_models(file: Path) -> None:
    file.write_text(
        '[defaults]\ncamera_address = "10.0.0.1"\nbands = ["5GHz"]\n'
        + GOOD
        + '[[model]]\ncodename = "a-2"\ndevice_name = "A 2"\nbands = []\n'
    )
    one, two = catalog.read([file]).values()
    assert (one.camera_address, one.bands) == ("10.0.0.1", (Band.GHZ_5,))
    assert (two.camera_address, two.bands) == ("10.0.0.1", ())


def test_a_key_of_an_earlier_version_is_ignored_and_named_once_for_its_file(file: Path) -> None:
    retired: list[tuple[Path, str]] = []
    bluetooth = '{ wake = "connect", service = "fea6", awake_for_s = 60.0 }'
    file.write_text(f"defaults.bluetooth = {bluetooth}\n{GOOD}bluetooth = {bluetooth}\n")
    model = catalog.read([file], lambda *found: retired.append(found))["a-1"]
    assert model.bluetooth == Bluetooth(WakeMethod.CONNECT, "fea6")
    assert retired == [(file, "bluetooth.awake_for_s")]


def test_a_later_file_says_more_of_a_model_and_adds_others(file: Path) -> None:
    file.write_text('[[model]]\ncodename = "insta360-x3"\nbands = ["5GHz"]\n' + GOOD)
    shipped, models = catalog.load()["insta360-x3"], catalog.load(file.parent)
    assert models["insta360-x3"].bands == (Band.GHZ_5,)
    assert models["insta360-x3"].probe == shipped.probe
    assert list(models) == [*catalog.load(), "a-1"]


def test_a_model_of_the_hosts_own_that_means_a_shipped_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('[[model]]\ncodename = "insta360x3"\ndevice_name = "X3"\n')
    with pytest.raises(catalog.CatalogError, match='differs from "insta360-x3" in more than dashes'):
        catalog.load(tmp_path)


@pytest.mark.parametrize("codename", ["insta360_x3", "insta360-x3", "Insta360_X3", "INSTA360X3"])
def test_dashes_and_case_do_not_matter_in_a_codename_that_is_looked_up(codename: str) -> None:
    models = catalog.load()
    assert codename in models
    assert models[codename].codename == "insta360-x3"
    assert codename not in list(models) or codename == "insta360-x3"


@pytest.mark.parametrize(
    ("codename", "closest"),
    [
        ("insta360_x33", "insta360-x3"),
        ("GOPRO-HERO-120", "gopro-hero12"),
        ("theta-x", "ricoh-theta-x"),
        ("generic", "generic-wifi-camera"),
    ],
)
def test_of_a_codename_that_is_unknown_the_closest_one_is_found(codename: str, closest: str) -> None:
    models = catalog.load()
    assert codename not in models
    assert closest_codename(codename, models) == closest


def test_without_models_none_is_close() -> None:
    assert closest_codename("x", CameraModels()) == ""


def test_a_folder_that_is_not_there_adds_nothing(tmp_path: Path) -> None:
    assert catalog.load(tmp_path / "none") == catalog.load()


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("[[model]", "is not TOML: "),
        ("model = 1", "model: expected [[model]] tables"),
        ("model = [1]", "model[0]: expected a table"),
        ("defaults = 1", "defaults: expected a table"),
        ('[defaults]\ncodename = "a"', "defaults.codename: unknown key; expected one of addressing, "),
        (GOOD + "[other]", "other: unknown key; expected [defaults] and [[model]]"),
        (GOOD + "colour = 1", "model[0].colour: unknown key; expected one of addressing, "),
        ('[[model]]\ncodename = "a"', "model[0]: expected the key device_name"),
        ('[[model]]\ndevice_name = "A"', "model[0]: expected the key codename"),
        ('[[model]]\ncodename = 1\ndevice_name = "A"', "model[0].codename: expected a text, not 1"),
        ('[[model]]\ncodename = "a"\ndevice_name = " "', "model[0].device_name: expected a text that is"),
        ('[[model]]\ncodename = "A b"\ndevice_name = "A"', "model[0].codename: expected lower case words"),
        (GOOD + GOOD, "model[1].codename: expected each codename once"),
        (
            GOOD + GOOD.replace("a-1", "a1"),
            'model[1].codename: expected a codename that differs from "a-1" in more than dashes',
        ),
        (GOOD + 'icon = "x.svg"', "model[0].icon: expected a path or an address"),
        (GOOD + 'bands = ["7GHz"]', 'model[0].bands[0]: expected "2.4GHz", "5GHz" or "6GHz", not '),
        (GOOD + 'bands = "5GHz"', "model[0].bands: expected a list"),
        (GOOD + 'camera_address = "::1"', "model[0].camera_address: expected an IPv4 address"),
        (GOOD + 'addressing = "luck"', 'model[0].addressing: expected "dhcp" or "static", not \'luck\''),
        (GOOD + 'addressing = "static"', "model[0].local_address: expected an address with its prefix if"),
        (
            GOOD + 'local_address = "10.0.0.2/8"',
            "model[0].local_address: expected an address with its prefix",
        ),
        (
            GOOD + 'addressing = "static"\nlocal_address = "10.0.0.2"',
            "model[0].local_address: expected an IPv4 address with its prefix",
        ),
        (GOOD + "probe = { port = 0 }", "model[0].probe.port: expected 1 to 65535"),
        (GOOD + 'probe = { path = "a b" }', "model[0].probe.path: expected a path"),
        (GOOD + "probe = 80", "model[0].probe: expected a table"),
        (GOOD + "keep_alive = { port = 1 }", "model[0].keep_alive: expected the key interval_s"),
        (GOOD + "keep_alive = { interval_s = 3 }", "model[0].keep_alive.path: expected either path (HTTP)"),
        (
            GOOD + 'keep_alive = { interval_s = 0.1, path = "/" }',
            "model[0].keep_alive.interval_s: expected 1 to 3600 seconds",
        ),
        (
            GOOD + 'recovery_steps = ["rejoin"]',
            'model[0].recovery_steps: expected some of "camera-access-point"',
        ),
        (GOOD + "snapshot = {}", "model[0].snapshot: expected the key path"),
        (GOOD + 'snapshot = { path = "still.jpg" }', "model[0].snapshot.path: expected a path"),
        (GOOD + 'snapshot = { path = "//host/x" }', "model[0].snapshot.path: expected a path"),
        (GOOD + 'snapshot = { path = "/a#b" }', "model[0].snapshot.path: expected a path"),
        (GOOD + 'snapshot = { path = "/", body = "{" }', "model[0].snapshot.body: expected JSON such as"),
        (
            GOOD + f"""snapshot = {{ path = "/", body = '"{"x" * 1000}"' }}""",
            "model[0].snapshot.body: expected at most 1000 bytes",
        ),
        (GOOD + 'pushes = ["8554"]', 'model[0].pushes[0]: expected a port such as "udp/8554"'),
        (GOOD + 'wizard = { intro = " " }', "model[0].wizard.intro: expected a text that is"),
        (GOOD + f'wizard = {{ intro = "{"x" * 2001}" }}', "model[0].wizard.intro: expected at most 2000"),
        (GOOD + 'wizard = { ssid = { name = "" } }', "model[0].wizard.ssid.name: expected a text that is"),
    ],
)
def test_a_file_at_fault_is_refused_with_its_key(file: Path, text: str, reported: str) -> None:
    file.write_text(text)
    with pytest.raises(catalog.CatalogError) as refused:
        catalog.read([file])
    assert str(refused.value).startswith(f"{file}: {reported}")


def test_a_file_that_is_not_there_is_refused(file: Path) -> None:
    with pytest.raises(catalog.CatalogError, match="cannot be read"):
        catalog.read([file])
