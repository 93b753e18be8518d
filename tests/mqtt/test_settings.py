"""The table `[mqtt]`, and what the bridge makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from tests.mqtt.certificates import Authority
from wifimgrd.config.configuration import ConfigError, load
from wifimgrd.config.web_address import BrokerAddress
from wifimgrd.mqtt._settings import Settings, derived_hub_id

MACHINE_ID = "4f1c2d3e5a6b7c8d9e0f112233445566"


def settings(folder: Path, keys: str) -> Settings | None:
    """What the bridge makes of the lines of a table."""
    (folder / "machine-id").write_text(f"{MACHINE_ID}\n")
    file = folder / "wifimgrd.toml"
    file.write_text(f"[mqtt]\n{keys}\n")
    return Settings.of(load(file), machine_id=folder / "machine-id")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('broker = "mqtt://192.0.2.1"', "insecure_plaintext"),
        ('broker = "mqtts://boat:secret@192.0.2.1"', "without user and password"),
        ('broker = "https://192.0.2.1"', "broker"),
        ('broker = "mqtts://192.0.2.1:99999"', "broker"),
        ('broker = "mqtts://192.0.2.1/path"', "broker"),
        ('broker = "mqtts://192.0.2.1"\npassword_file = "x"', "user"),
        ('broker = "mqtts://192.0.2.1"\ncertificate = "x"', "key"),
        ('broker = "mqtts://192.0.2.1"\nca_file = "/nonexistent"', "ca_file.*: /nonexistent cannot be used"),
        ('broker = "mqtt://localhost"\nca_file = "/nonexistent"', "TLS files"),
        ('broker = "mqtts://192.0.2.1"\nuser = "boat"\npassword_file = "/nonexistent"', "password_file"),
        (
            'broker = "mqtts://192.0.2.1"\nuser = "boat"\npassword_file = "/dev/null"',
            "must have one line, a password",
        ),
        ('prefix = "a/#"', "prefix"),
        ('hub = "a/b"', "hub"),
        ('discovery_prefix = "wifimgrd"', "discovery_prefix"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_key(tmp_path: Path, keys: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        settings(tmp_path, keys)
    assert "secret" not in str(raised.value)


def test_nobody_is_asked_for_the_password_of_a_key(tmp_path: Path) -> None:
    certificate, file = Authority(tmp_path, "authority").sign("boat")
    key = serialization.load_pem_private_key(file.read_bytes(), None)
    kind, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file.write_bytes(key.private_bytes(kind, form, serialization.BestAvailableEncryption(b"secret")))
    with pytest.raises(ConfigError, match=r"boat\.key cannot be used: the key has a passphrase"):
        settings(tmp_path, f'broker = "mqtts://broker"\ncertificate = "{certificate}"\nkey = "{file}"')


@pytest.mark.parametrize(
    ("address", "host", "port", "tls"),
    [
        ("mqtts://broker.example", "broker.example", 8883, True),
        ("mqtts://[2001:db8::1]:8884", "2001:db8::1", 8884, True),
        ("mqtt://localhost", "localhost", 1883, False),
        ("mqtt://[::1]", "::1", 1883, False),
    ],
)
def test_the_address_of_the_broker_has_its_port(
    tmp_path: Path, address: str, host: str, port: int, tls: bool
) -> None:
    made = settings(tmp_path, f'broker = "{address}"')
    assert made is not None
    assert made.broker == BrokerAddress(host, port, tls)


def test_without_a_broker_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert settings(tmp_path, "") is None


def test_the_hubs_id_is_stable_and_does_not_contain_the_machines(tmp_path: Path) -> None:
    file = tmp_path / "machine-id"
    file.write_text(MACHINE_ID)
    made = derived_hub_id(file)
    assert made == derived_hub_id(file)
    assert made not in MACHINE_ID
    file.write_text(MACHINE_ID[::-1])
    assert derived_hub_id(file) != made
    file.write_text("uninitialized\n")
    with pytest.raises(ConfigError, match=r"\[mqtt\] hub"):
        derived_hub_id(file)


def test_a_password_file_can_be_a_systemd_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / "mqtt").write_text("correct horse\n")
    made = settings(tmp_path, 'broker = "mqtts://192.0.2.1"\nuser = "boat"\npassword_file = "mqtt"')
    assert made is not None
    assert made.password == "correct horse"
    assert "correct horse" not in repr(made)
