"""setup: a commented file, whose difference is shown first, and nothing that would not start."""

from __future__ import annotations

import errno
import os
import re
import tomllib
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.cli.running import on_terminal, wifimgrctl
from wifimgrd.cli import _setup, _setup_dialog
from wifimgrd.cli import _setup_file as setup_file
from wifimgrd.cli._arguments import parser
from wifimgrd.cli._screen import Screen
from wifimgrd.config.configuration import Config, load

NO_BUS = "unix:path=/nowhere"
WRITTEN = """\
# Written by `wifimgrctl setup`, which writes it anew each time. Every key: wifimgrd.toml(5).

[catalog]
# Whether only camera models of the catalog can be registered.
strict = true

[radio]
# Where this hub is: the channels that its adapters may use.
country = "DE"
"""


@pytest.fixture
def main(tmp_path: Path) -> Path:
    """A configuration that is not the service's."""
    path = tmp_path / "wifimgrd" / "wifimgrd.toml"
    path.parent.mkdir()
    path.touch()
    return path


def file_of(main: Path) -> Path:
    """What setup writes."""
    return main.with_name("wifimgrd.toml.d") / "50-setup.toml"


def put(path: Path, text: str) -> None:
    """Write a file, and its folder."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


async def test_options_make_a_commented_file(main: Path) -> None:
    line = ("setup", "--config", str(main), "--country", "DE", "--strict-models", "yes")
    ran = await wifimgrctl(NO_BUS, *line, "--dry-run")
    assert (ran.status, ran.err) == (0, "Nothing has been changed.\n")
    assert '+country = "DE"\n' in ran.out
    assert not file_of(main).exists()
    ran = await wifimgrctl(NO_BUS, *line)
    assert (ran.status, ran.out, ran.err) == (0, f"{file_of(main)} is written.\n", "")
    assert file_of(main).read_text() == WRITTEN
    assert (load_of(main).radio.country, load_of(main).catalog.strict) == ("DE", True)
    ran = await wifimgrctl(NO_BUS, *line)
    assert (ran.status, ran.out) == (0, "Everything is set already.\n")
    ran = await wifimgrctl(NO_BUS, "setup", "--config", str(main), "--country", "fr", "--json")
    assert ran.value == {"files": [str(file_of(main))], "restarts": [], "done": True}
    assert load_of(main).catalog.strict


def load_of(main: Path) -> Config:
    """The configuration with its drop-ins."""
    return load(main)


async def test_a_token_and_a_password_are_in_files_of_their_own(main: Path, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("broker-pass\n")
    ran = await wifimgrctl(
        NO_BUS, "setup", "--config", str(main), "--listen", "0.0.0.0:8080", "--new-token",
        "--mqtt-broker", "mqtts://broker.example", "--mqtt-user", "boat", "--mqtt-commands", "yes",
        "--mqtt-password-file", str(tmp_path / "password"),
    )  # fmt: skip
    assert (ran.status, ran.err) == (0, "")
    token, password = main.with_name("token"), main.with_name("mqtt-password")
    assert re.fullmatch(r"[\w-]{32}\n", token.read_text())
    assert password.read_text() == "broker-pass\n"
    assert (token.stat().st_mode & 0o777, password.stat().st_mode & 0o777) == (0o640, 0o640)
    config = load_of(main)
    assert (config.http.listen, config.http.token_file) == ("0.0.0.0:8080", token)
    assert (config.mqtt.user, config.mqtt.password_file, config.mqtt.commands) == ("boat", password, True)
    shown = ran.out + file_of(main).read_text()
    assert "broker-pass" not in shown
    assert token.read_text().strip() not in shown


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("--country", "deu"), "--country: expected two capital letters such as \"DE\", not 'DEU' (invalid"),
        (("--country", "\u00df"), "--country: expected two capital letters"),
        (
            ("--listen", "0.0.0.0:8080"),
            "0.0.0.0:8080 is for other hosts, too, and needs a token: --new-token",
        ),
        (("--country", "DE", "--listen", "DE"), "--listen: expected an address and a port"),
        (("--mqtt-broker", "mqtt://broker.example"), "--mqtt-broker: expected mqtts://"),
        (("--country", "D\udcff"), "--country: expected text in UTF-8"),
    ],
)
async def test_what_would_not_start_is_not_written(main: Path, line: tuple[str, ...], said: str) -> None:
    ran = await wifimgrctl(NO_BUS, "setup", "--config", str(main), *line)
    assert (ran.status, ran.out) == (1, "")
    assert said in " ".join(ran.err.split()) or said in ran.err
    assert "/tmp/tmp" not in ran.err
    assert not file_of(main).exists()


def test_a_configuration_that_is_not_there_is_noted_before_anything_is_written(
    main: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main.unlink()
    arguments = parser().parse_args(["setup", "--config", str(main), "--country", "DE", "--dry-run"])
    assert _setup.setup(arguments, Screen.of_process(json=False))
    assert f"There is no file {main}" in " ".join(capsys.readouterr().err.split())
    assert not file_of(main).exists()


async def test_a_directory_is_no_configuration(main: Path) -> None:
    ran = await wifimgrctl(NO_BUS, "setup", "--config", f"{main.parent}/", "--country", "DE")
    assert (ran.status, f"--config: {main.parent} is a directory" in " ".join(ran.err.split())) == (1, True)


async def test_without_a_terminal_it_needs_options(main: Path) -> None:
    ran = await wifimgrctl(NO_BUS, "setup", "--config", str(main))
    assert (ran.status, "name at least one setting" in ran.err) == (2, True)
    ran = await wifimgrctl(NO_BUS, "setup", "--config", str(main), "--mqtt-user", "boat")
    assert (ran.status, "--mqtt-user needs --mqtt-password-file" in ran.err) == (2, True)


async def test_what_others_wrote_stays(main: Path) -> None:
    put(main, "[link]\ngrace_s = 3\n")
    put(file_of(main).with_name("90-local.toml"), '[radio]\ncountry = "NO"\n')
    ran = await wifimgrctl(NO_BUS, "setup", "--config", str(main), "--country", "DE")
    assert (ran.status, "[radio] country has no effect: a later file" in ran.err) == (0, True)
    assert load(main).link.grace_s == 3
    put(file_of(main), "[history]\nrows = 200\n")
    ran = await wifimgrctl(NO_BUS, "setup", "--config", str(main), "--country", "DE")
    assert (ran.status, "setup does not know history.rows" in " ".join(ran.err.split())) == (1, True)
    put(main, "[link]\ngrace_s = -3\n")
    ran = await wifimgrctl(NO_BUS, "setup", "--config", str(main), "--country", "DE")
    assert (ran.status, f"{main}: link.grace_s" in ran.err) == (1, True)


async def test_the_dialog(main: Path) -> None:
    async with on_terminal(NO_BUS, "setup", "--config", str(main)) as terminal:
        for question, answer in (
            ("Country of this hub, two letters [not set]: ", "de"),
            ("Address and port of the page and the API [127.0.0.1:8080]: ", "0.0.0.0:80"),
            ("Make one? [yes]: ", ""),
            ("MQTT broker, such as mqtts://broker.example [none]: ", "mqtts://broker.example"),
            ("User at the broker [none]: ", "boat"),
            ("Password of boat at the broker: ", "broker-pass"),
            ("May clients of the broker command the cameras? [no]: ", ""),
            ("Accept only camera models of the catalog? [no]: ", ""),
            ("Write this? [yes]: ", ""),
        ):
            await terminal.until(question)
            terminal.type(f"{answer}\n")
        assert await terminal.end() == 0
        await terminal.until_closed()
        assert "broker-pass" not in terminal.seen
        assert '+country = "DE"' in terminal.seen
    config = load_of(main)
    assert (config.radio.country, config.http.listen, config.mqtt.user) == ("DE", "0.0.0.0:80", "boat")
    assert file_of(main).read_text().count(" = ") == 6


async def test_a_wrong_answer_is_asked_for_again_and_the_others_are_kept(main: Path) -> None:
    country, listen = "Country of this hub", "Address and port of the page and the API [127.0.0.1:8080]: "
    async with on_terminal(NO_BUS, "setup", "--config", str(main)) as terminal:
        for said, answer in (
            (country, "Germany"),
            ('expected two capital letters such as "DE"', ""),
            (country, "de"),
            (listen, "DE"),
            ("expected an address and a port", ""),
            (listen, "0.0.0.0:80"),
            ("Make one? [yes]: ", "perhaps"),
            ("expected yes or no", ""),
            ("Make one? [yes]: ", "no"),
            ("0.0.0.0:80 is for other hosts, too, and needs a token", ""),
            (listen, "127.0.0.1:81"),
            ("MQTT broker", "mqtt://broker.example"),
            ("expected mqtts://", ""),
            ("MQTT broker", "mqtts://broker.example"),
            ("User at the broker", "boat"),
            ("Password of boat", "\n"),
            ("the password is empty", ""),
            ("Password of boat", "broker-pass\n"),
            ("command the cameras?", "yes"),
            ("models of the catalog?", "\n"),
            ("Write this?", "yes"),
        ):
            await terminal.until(said)
            terminal.seen = terminal.seen.partition(said)[2]
            if answer:
                terminal.type(f"{answer.strip()}\n")
        assert await terminal.end() == 0
    config = load_of(main)
    assert (config.radio.country, config.http.listen, config.http.token_file) == ("DE", "127.0.0.1:81", None)
    assert (config.mqtt.user, config.mqtt.commands) == ("boat", True)


async def test_a_dialog_without_an_end_of_its_input_ends(main: Path) -> None:
    async with on_terminal(NO_BUS, "setup", "--config", str(main)) as terminal:
        await terminal.until("Country of this hub")
        terminal.type("Germany\n")
        await terminal.until("expected two capital letters")
        terminal.type("\x04")
        assert await terminal.end() == 2
    assert not file_of(main).exists()


def test_a_country_that_the_kernel_has_no_rules_for_is_refused(
    main: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "regulatory.db"
    database.write_bytes(b"RGDB" + bytes((0, 0, 0, 20)) + b"00\0\x10" + b"DE\0\x10" + bytes(4) + b"XX\0\x10")
    monkeypatch.setattr(_setup_dialog, "DATABASE", database)
    problem = partial(_setup._problem, _setup._Plan(main, {}), setup_file.COUNTRY)
    assert problem("DE") == ""
    assert "expected a country that the kernel has rules for" in problem("XX")
    database.write_bytes(b"another format")
    assert problem("XX") == ""


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (errno.ENOSPC, "internal", "No space left on device"),
        (errno.EDQUOT, "internal", "Disk quota exceeded"),
        (errno.EROFS, "internal", "Read-only file system"),
        (errno.EACCES, "not-authorized", "Permission denied; setup needs root"),
    ],
)
def test_why_a_file_cannot_be_written_is_said(
    main: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
    code: str,
    said: str,
) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    arguments = parser().parse_args(["setup", "--config", str(main), "--country", "DE"])
    assert not _setup.setup(arguments, Screen.of_process(json=False))
    printed = " ".join(capsys.readouterr().err.split())
    assert f"{file_of(main)} cannot be written: {said} ({code})" in printed
    assert not list(main.parent.rglob("*setup*"))


def test_the_folders_of_what_is_written_are_synced_after_it(
    main: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[Path, list[str]]] = []

    def sync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_dir():
            synced.append((path, sorted(one.name for one in path.iterdir())))

    monkeypatch.setattr(os, "fsync", sync)
    arguments = parser().parse_args(["setup", "--config", str(main), "--new-token"])
    assert _setup.setup(arguments, Screen.of_process(json=False))
    folder = main.with_name("wifimgrd.toml.d")
    assert synced == [
        (main.parent, ["token", main.name]),
        (main.parent, ["token", main.name, folder.name]),
        (folder, ["50-setup.toml"]),
    ]


def test_paths_are_absolute_also_with_a_relative_configuration(
    main: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(main.parent)
    arguments = parser().parse_args(["setup", "--config", main.name, "--new-token"])
    assert _setup.setup(arguments, Screen.of_process(json=False))
    assert load_of(main).http.token_file == main.with_name("token")


async def test_a_dialog_that_is_left_changes_nothing(main: Path) -> None:
    async with on_terminal(NO_BUS, "setup", "--config", str(main), "--country", "DE") as terminal:
        await terminal.until("Write this? ")
        terminal.type("n\n")
        assert await terminal.end() == 1
    async with on_terminal(NO_BUS, "setup", "--config", str(main)) as terminal:
        await terminal.until("Country of this hub")
        assert await terminal.interrupt() == 130
    assert not file_of(main).exists()


async def test_what_cannot_read_the_configuration_again_is_restarted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, ...]] = []

    async def systemctl(command: tuple[str, ...]) -> tuple[int, str]:
        asked.append(command)
        return (5, "") if "wifimgrd-mqtt.service" in command else (0, "")

    monkeypatch.setattr(_setup, "_systemctl", systemctl)
    screen = Screen.of_process(json=False)
    assert await _setup._apply(["wifimgrd-http.service", "wifimgrd-mqtt.service"], screen, is_moved=True)
    assert asked == [
        ("daemon-reload",),
        ("stop", "wifimgrd-http.service"),
        ("restart", "wifimgrd-http.socket"),
        ("restart", "wifimgrd-http.service"),
        ("restart", "wifimgrd-mqtt.service"),
        ("reload", "wifimgrd.service"),
    ]
    assert "wifimgrd-mqtt.service is not installed here." in capsys.readouterr().err


@given(st.text(), st.text(), st.booleans())
@example("caméra \U0001f4f7", '\x7f\x80\x1f"\\\r\n\b', True)
def test_what_is_written_is_read_back(user: str, broker: str, switch: bool) -> None:
    values: dict[setup_file.Key, str | bool] = {
        setup_file.USER: user, setup_file.BROKER: broker, setup_file.COMMANDS: switch
    }  # fmt: skip
    mqtt = tomllib.loads(setup_file.text_of(values))["mqtt"]
    assert mqtt == {"user": user, "broker": broker, "commands": switch}
