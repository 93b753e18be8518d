"""The configuration in use: converted to the manager's settings, and reloaded while the daemon runs."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import structlog

from wifimgrd.config.configuration import Config, ConfigError, load, load_models
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.adapter import AdapterPin
from wifimgrd.domain.addresses import AddressPlan, parse_network
from wifimgrd.domain.allocator import AllocationRules
from wifimgrd.domain.camera_model import CameraModels
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.group import Group
from wifimgrd.domain.link_steps import LinkRules, LinkStep
from wifimgrd.domain.recovery import RecoveryRules, RecoveryStep
from wifimgrd.domain.reservation import ReservationRule
from wifimgrd.runtime.systemd import notify
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()


def hub_settings(config: Config, models: CameraModels) -> HubSettings:
    """The configuration converted to the manager's settings."""
    interfaces = config.interfaces
    rules = AllocationRules(
        usb_only=interfaces.match == "usb",
        exclude=interfaces.exclude,
    )
    reserve = tuple(
        ReservationRule(
            DeviceId(one.device) if isinstance(one.device, int) else one.device,
            AdapterPin(one.mac.lower(), one.usb_port),
        )
        for one in interfaces.reserve
    )
    steps = config.recovery.steps if config.recovery.enabled else ()
    return HubSettings(
        rules=rules,
        reserve=reserve,
        groups=tuple(
            Group(
                group.name,
                tuple(DeviceId(one) if isinstance(one, int) else one for one in group.devices),
            )
            for group in config.connect.group
        ),
        connect_on_create=config.connect.on_create,
        attempt_timeout_s=config.connect.timeout_s,
        auto_reconnect=config.connect.auto_reconnect,
        grace_s=config.link.grace_s,
        addresses=AddressPlan(parse_network(config.cameras.network)),
        recovery=RecoveryRules(frozenset(one for one in RecoveryStep if one in steps)),
        link_recovery=LinkRules(
            steps=frozenset(one for one in LinkStep if one in steps),
            silent_link_s=config.recovery.silent_link_s if config.recovery.enabled else 0.0,
            power_ports=frozenset(config.recovery.power_ports),
            camera_steps=config.recovery.camera_steps,
        ),
        keep_recording=config.cameras.keep_recording,
        set_clock=config.cameras.set_clock,
        models=models,
        codenames=models if config.catalog.strict else None,
    )


class LiveSettings:
    """The configuration in use, and its reload."""

    def __init__(self, hub: Hub, config: Config, path: Path | None, tasks: Tasks) -> None:
        self._hub = hub
        self._started_with = config
        self.config = config
        """The configuration in use."""
        self._path = path
        self._tasks = tasks

    async def reread(self) -> None:
        """Reload the configuration; raises InvalidRequest, and then the old one stays in use."""
        notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            config = load(self._path)
            await self._hub.reconfigure(hub_settings(config, load_models(self._path)))
            self.config = config
        except ConfigError as error:
            _log.error("configuration_refused", reason=str(error))
            raise InvalidRequest(f"the old configuration stays in use: {error}") from None
        finally:
            notify("READY=1")
        _log.info("configuration_reloaded", needs_restart=self._beyond_reload(config) or None)

    def reread_on_hangup(self, hung_up: asyncio.Event) -> None:
        """Reload on SIGHUP from now on, and now if there was one before; errors are only logged."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reread_soon)
        if hung_up.is_set():
            self._reread_soon()

    def _reread_soon(self) -> None:

        async def reread() -> None:
            with suppress(InvalidRequest):
                await self.reread()

        self._tasks.start("reload", reread())

    def _beyond_reload(self, config: Config) -> list[str]:
        """The changed settings that take effect only after a restart."""
        was, now = self._started_with, config
        changed = {
            "backend": was.backend != now.backend,
            "interfaces.match": was.interfaces.match != now.interfaces.match,
            "adapters": was.adapters != now.adapters,
            "radio": was.radio != now.radio,
            "cameras": replace(was.cameras, keep_recording=False, set_clock=True)
            != replace(now.cameras, keep_recording=False, set_clock=True),
            "history": was.history != now.history,
        }
        return [key for key, differs in changed.items() if differs]
