"""What the shim makes of its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from wifimgrd.config.configuration import Config, ConfigError, Http, Platform
from wifimgrd.http.settings import Settings, allowed_hosts, read_token


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
    with pytest.raises(ConfigError, match="--listen: '8080' is not HOST:PORT"):
        Settings.of(Config(), "8080")


def test_the_platform_and_the_origins_come_from_the_configuration() -> None:
    config = Config(Platform("other"), http=Http(allowed_origins=("HTTPS://Hub.example:443/",)))
    settings = Settings.of(config)
    assert settings.platform == "other"
    assert settings.origins == {"https://hub.example"}


def test_a_token_is_what_stands_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789s3cret\n")
    assert read_token(file) == "0123456789s3cret"


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
