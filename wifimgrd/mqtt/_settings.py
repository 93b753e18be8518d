"""The bridge's settings: made of the configuration once, checked, and complete."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wifimgrd.config.configuration import Config, FileUnusable, Http
from wifimgrd.config.secret_file import secret_in
from wifimgrd.config.web_address import (
    BrokerAddress,
    broker_address,
    ip_address_of,
    listen_address,
    page_address,
)
from wifimgrd.domain.camera_model import CameraModels
from wifimgrd.mqtt._access import Access, Tls
from wifimgrd.mqtt._topics import Topics
from wifimgrd.runtime.credentials import credential

MACHINE_ID: Final = Path("/etc/machine-id")
_APPLICATION: Final = bytes.fromhex("6c0f5be1a7d94b1f9a3ad0b54ce8f213")
"""Identifies this program where ids are derived from the machine id."""
_HUB_ID_LENGTH: Final = 12


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the bridge."""

    broker: BrokerAddress
    topics: Topics
    user: str = ""
    password: str | None = field(default=None, repr=False)
    tls: Tls | None = None
    commands: bool = False
    discovery_prefix: str = ""
    """Empty = no discovery messages for Home Assistant."""
    models: CameraModels = field(default_factory=CameraModels)
    """The camera models whose names are in those messages."""
    page: str = ""
    """The address of the hub's page in those messages and in the hub's record; empty where others cannot
    reach it, or by an address that is not in the configuration."""

    @property
    def access(self) -> Access:
        """How the bridge connects."""
        return Access(self.broker, self.user, self.password, self.tls)

    @classmethod
    def of(
        cls, config: Config, models: CameraModels | None = None, machine_id: Path = MACHINE_ID
    ) -> Settings | None:
        """Read the configuration; None if it names no broker. Raises FileUnusable."""
        mqtt = config.mqtt
        if not mqtt.broker:
            return None
        address = broker_address(mqtt.broker)
        ca_file, certificate, key = (
            None if file is None else credential(file) for file in (mqtt.ca_file, mqtt.certificate, mqtt.key)
        )
        file = mqtt.password_file
        password = None if file is None else secret_in(file, "[mqtt] password_file", "a password")
        tls = Tls(ca_file, certificate, key) if address.tls else None
        if tls is not None:
            try:
                tls.context()
            except OSError as error:
                raise FileUnusable(f"[mqtt] ca_file, certificate, key: {error}") from None
        others = (mqtt.discovery_prefix,) if mqtt.discovery_prefix else ()
        return cls(
            broker=address,
            topics=Topics(mqtt.prefix, mqtt.hub or derived_hub_id(machine_id), others),
            user=mqtt.user,
            password=password,
            tls=tls,
            commands=mqtt.commands,
            discovery_prefix=mqtt.discovery_prefix,
            models=models or CameraModels(),
            page=_page(config.http),
        )


def _page(http: Http) -> str:
    """The address at which other hosts reach the hub's page, as far as the configuration has it."""
    host, port = listen_address(http.listen)
    address = ip_address_of(host)
    if host == "localhost" or (address is not None and (address.is_loopback or address.is_unspecified)):
        return ""
    return page_address("http" if http.tls_certificate is None else "https", host, port)


def derived_hub_id(machine_id: Path) -> str:
    """A hub's id that is stable and does not reveal the machine id, which is confidential: machine-id(5),
    sd_id128_get_machine_app_specific(3). Raises FileUnusable."""
    try:
        secret = bytes.fromhex(machine_id.read_text("ascii").strip())
    except (OSError, ValueError) as error:
        raise FileUnusable(f"[mqtt] hub: set one, since {machine_id} cannot be used: {error}") from None
    return hmac.new(secret, _APPLICATION, hashlib.sha256).hexdigest()[:_HUB_ID_LENGTH]
