"""What the shim makes of its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from wifimgrd.config import Config, ConfigError, Http, Platform
from wifimgrd.http.settings import Settings, allowed_hosts, listen_address, read_token


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_a_listen_address_is_host_and_port(text: str, address: tuple[str, int]) -> None:
    assert listen_address(text) == address


@pytest.mark.parametrize(
    "text",
    ["", "8080", ":8080", "localhost", "::1:80", "[::1]", "a:", "a:-1", "a:65536", "a:８0", "a:00000080"],
)
def test_anything_else_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(ConfigError, match=r"\[http\] listen"):
        listen_address(text)


def test_the_host_answers_to_its_names_and_to_what_it_listens_on() -> None:
    hosts = allowed_hosts("Pi.example.org", "192.0.2.7", ("hub.example.org:8080",))
    assert hosts == {
        "localhost",
        "127.0.0.1",
        "::1",
        "pi.example.org",
        "pi",
        "pi.local",
        "192.0.2.7",
        "hub.example.org",
    }


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::"])
def test_the_address_of_everything_is_no_name(everywhere: str) -> None:
    assert everywhere not in allowed_hosts("pi", everywhere, ())


def test_an_empty_host_name_allows_no_empty_host() -> None:
    assert "" not in allowed_hosts("", "127.0.0.1", ())


def test_the_command_line_wins_over_the_configuration() -> None:
    settings = Settings.of(Config(http=Http(listen="127.0.0.1:1")), "127.0.0.1:2")
    assert settings.listen_port == 2


def test_the_platform_and_the_origins_come_from_the_configuration() -> None:
    config = Config(Platform("other"), http=Http(allowed_origins=("HTTPS://Hub.example:443/",)))
    settings = Settings.of(config)
    assert settings.platform == "other"
    assert settings.origins == {"https://hub.example"}


@pytest.mark.parametrize(
    "origin", ["*", "null", "hub.example", "http://", "http://hub.example/page", "http://a:b"]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(ConfigError, match="allowed_origins"):
        Settings.of(Config(http=Http(allowed_origins=(origin,))))


def test_a_token_is_what_stands_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    assert read_token(file) == "s3cret"


def test_a_token_is_not_shown() -> None:
    assert "s3cret" not in repr(Settings(token="s3cret"))


def test_an_empty_token_file_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(" \n")
    with pytest.raises(ConfigError, match="is empty"):
        read_token(file)


def test_a_token_file_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_token(tmp_path / "token")
