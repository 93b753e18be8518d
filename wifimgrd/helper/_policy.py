"""The administrator's policy: read from the configuration and the catalog, not from the caller."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

import structlog

from wifimgrd.config.configuration import Config, ConfigError, load, load_models
from wifimgrd.config.web_address import listen_address
from wifimgrd.domain.addresses import AcceptedPort, SocketKind, parse_port, parse_share
from wifimgrd.domain.camera_model import CameraModels

_log = structlog.get_logger()

_SSH = AcceptedPort(SocketKind.TCP, 22)


@dataclass(frozen=True, slots=True)
class Policy:
    """Networks that reach the cameras, and ports of this host that cameras may send to."""

    shared: tuple[IPv4Network, ...] = ()
    accepted: frozenset[AcceptedPort] = frozenset()
    """Of all cameras."""
    models: CameraModels = field(default_factory=CameraModels)
    """The models of cameras, with the ports that each model pushes to."""

    def accepts(self, codename: str) -> tuple[AcceptedPort, ...]:
        """The ports that a camera of this model may send to."""
        model = self.models.get(codename)
        pushed = () if model is None else map(parse_port, model.pushes)
        return tuple(sorted(self.accepted.union(pushed)))


def read_policy(path: Path | None) -> Policy:
    """The policy of the configuration that `wifimgrd.config.load` reads; where it cannot be used nothing is
    shared or accepted, and an error is logged."""
    try:
        config, models = load(path), load_models(path)
    except (ConfigError, OSError) as error:  # OSError: a file or folder that may not be read
        _log.error("configuration_unusable", reason=str(error), effect="nothing is shared or accepted")
        return Policy()
    policy = Policy(
        tuple(map(parse_share, config.cameras.share)),
        frozenset(map(parse_port, config.cameras.accept)),
        models,
    )
    for port in sorted(policy.accepted & _listeners(config)):
        _log.warning(
            "accepted_port_in_use",
            port=f"{port.kind}/{port.number}",
            effect="cameras reach a listener of this host",
        )
    return policy


def _listeners(config: Config) -> set[AcceptedPort]:
    """The ports of this host's own services: the shim's and SSH's."""
    _, port = listen_address(config.http.listen)
    return {AcceptedPort(SocketKind.TCP, port), _SSH}
