"""What the command line accepts, and where a password may come from."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from wifimgrd.cli.__main__ import main
from wifimgrd.cli._arguments import parser
from wifimgrd.cli._password import read_password
from wifimgrd.domain.errors import InvalidRequest


@pytest.mark.parametrize(
    ("line", "command", "json", "bus"),
    [
        ([], "devices", False, "system"),
        (["--json"], "devices", True, "system"),
        (["--json", "interfaces"], "interfaces", True, "system"),
        (["interfaces", "--json"], "interfaces", True, "system"),
        (["--bus", "session", "status", "3"], "status", False, "session"),
        (["status", "--bus", "unix:path=/x", "3"], "status", False, "unix:path=/x"),
    ],
)
def test_global_options_stand_anywhere(
    monkeypatch: pytest.MonkeyPatch, line: list[str], command: str, json: bool, bus: str
) -> None:
    monkeypatch.delenv("WIFIMGRD_BUS", raising=False)
    arguments = parser().parse_args(line)
    assert (arguments.command, arguments.json, arguments.bus) == (command, json, bus)


def test_the_bus_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIFIMGRD_BUS", "unix:path=/y")
    assert parser().parse_args(["devices"]).bus == "unix:path=/y"
    assert parser().parse_args(["devices", "--bus", "session"]).bus == "session"


@pytest.mark.parametrize(
    "line",
    [
        ["frobnicate"],
        ["--frob"],
        ["add"],
        ["add", "--ssid", "a", "--ssid-hex", "61"],
        ["add", "--ssid-hex", "6"],
        ["add", "--ssid", "a", "--password", "secret-pass"],
        ["add", "--ssid", "a", "--open", "--password-stdin"],
        ["remove"],
        ["connect"],
        ["connect", "1", "--timeout", "x"],
        ["connect", "1", "--timeout", "-1"],
        ["connect", "1", "--timeout", "nan"],
        ["connect", "1", "--no-wait", "--timeout", "3"],
        ["devices", "1"],
    ],
)
def test_wrong_usage(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(line)
    assert end.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: wifimgrctl" in captured.err


@pytest.mark.parametrize(
    ("line", "usage", "said"),
    [
        (["add", "--ssid", "a", "--pasword-stdin"], "add", 'did you mean "--password-stdin"?'),
        (["connect", "1", "--tmeout=3"], "connect", 'unknown option "--tmeout"; did you mean "--timeout"?'),
        (["bluetooth", "check", "--second", "3"], "bluetooth check", 'did you mean "--seconds"?'),
        (["--jsn"], "[OPTIONS] [COMMAND ...]", 'unknown option "--jsn"; did you mean "--json"?'),
        (["devices", "1"], "devices", 'unexpected argument "1"'),
        (["set", "1"], "set", "name at least one setting"),
        (["help", "conect"], "help", 'did you mean "connect"?'),
    ],
)  # fmt: skip
def test_wrong_usage_is_answered_with_the_usage_of_the_command_and_what_may_be_meant(
    line: list[str], usage: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(line)
    err = capsys.readouterr().err
    assert err.startswith(f"usage: wifimgrctl {usage}")
    assert said in err
    assert "See `wifimgrctl" in err


def test_what_follows_an_unknown_option_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["add", "--ssid", "a", "--password", "secret-pass", "--pasword=secret-pass"])
    assert "secret-pass" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [(["help"], "register a camera"), (["help", "connect"], "usage: wifimgrctl connect")],
)
def test_help_is_a_command(line: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line) == 0
    assert said in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("wifimgrctl ")


def test_an_ssid_is_taken_as_its_bytes() -> None:
    assert parser().parse_args(["add", "--ssid", "\udcff前"]).ssid == b"\xff" + "前".encode()
    assert parser().parse_args(["add", "--ssid-hex", "ff 00"]).ssid == b"\xff\x00"


@pytest.mark.parametrize(
    ("data", "password"),
    [(b"camera-pass", "camera-pass"), (b"camera-pass\n", "camera-pass"), (b" two words \r\n", " two words ")],
)
def test_a_password_file(tmp_path: Path, data: bytes, password: str) -> None:
    path = tmp_path / "password"
    path.write_bytes(data)
    arguments = parser().parse_args(["add", "--ssid", "a", "--password-file", str(path)])
    assert read_password(arguments, "a") == password


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "use --open"),
        (b"\n", "use --open"),
        (b"\xff\xfe", "not text"),
        (b"x" * 5000, "more than a password"),
    ],
)
def test_no_password_file(tmp_path: Path, data: bytes, sentence: str) -> None:
    path = tmp_path / "password"
    path.write_bytes(data)
    arguments = parser().parse_args(["add", "--ssid", "a", "--password-file", str(path)])
    with pytest.raises(InvalidRequest, match=sentence):
        read_password(arguments, "a")


def test_a_missing_password_file(tmp_path: Path) -> None:
    arguments = parser().parse_args(["add", "--ssid", "a", "--password-file", str(tmp_path / "none")])
    with pytest.raises(InvalidRequest, match="cannot be read"):
        read_password(arguments, "a")


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"camera-pass\n")))
    assert (
        read_password(parser().parse_args(["add", "--ssid", "a", "--password-stdin"]), "a") == "camera-pass"
    )


def test_an_open_network_has_no_password() -> None:
    assert read_password(parser().parse_args(["add", "--ssid", "a", "--open"]), "a") == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["record"], "wifimgrctl record: name cameras, or --all."),
        (["connect"], "wifimgrctl connect: name cameras, or --all, or --group."),
        (["disconnect"], "wifimgrctl disconnect: name a camera."),
        (["record", "--al"], 'wifimgrctl record: unknown option "--al"; did you mean "--all"?'),
        (["completions"], "name what to list: devices, interfaces, codenames or groups."),
    ],
)
def test_what_is_missing_is_asked_for_in_words(
    line: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(line)
    assert end.value.code == 2
    assert said in " ".join(capsys.readouterr().err.split())
