"""The bridge: what changes at the hub is published, and commands are carried out."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from wifimgrd.client.changes import (
    Change,
    DaemonAppeared,
    DaemonVanished,
    DeviceAdded,
    DeviceChanged,
    DeviceRemoved,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    ServiceChanged,
)
from wifimgrd.client.channel_messages import ChannelMessages
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_records import device_json, interface_json
from wifimgrd.domain.camera_state import is_recording
from wifimgrd.domain.check import found_at
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.records import DeviceRecord, InterfaceRecord, ServiceRecord
from wifimgrd.mqtt._broker import RECONNECT
from wifimgrd.mqtt._commands import Commands
from wifimgrd.mqtt._connection import BrokerError
from wifimgrd.mqtt._discovery import Discovery
from wifimgrd.mqtt._events import EventQueue
from wifimgrd.mqtt._hub_record import encoded, hub_json
from wifimgrd.mqtt._pace import Pace, is_small
from wifimgrd.mqtt._records import RetainedRecords
from wifimgrd.mqtt._session import Session
from wifimgrd.mqtt._settings import Settings
from wifimgrd.mqtt._topics import OFFLINE, ONLINE
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire.kinds import time_text


class Bridge:
    """Connects the live copy of the daemon's objects with the session at the broker."""

    def __init__(self, hub: HubClient, settings: Settings, tasks: Tasks) -> None:
        self._hub = hub
        self._settings = settings
        self._topics = settings.topics
        self._tasks = tasks
        self._discovery: Discovery | None = None
        if prefix := settings.discovery_prefix:
            self._discovery = Discovery(
                self._topics, prefix, settings.commands, settings.models, settings.page
            )
        self._records = RetainedRecords()
        self._events = EventQueue(secrets.token_hex(8))
        self._messages = ChannelMessages()
        self._pace = Pace()
        self._timer: asyncio.TimerHandle | None = None
        """Publishes the next record that was held back."""
        self._service = ServiceRecord()
        self._is_away = True
        """The daemon is."""
        self._is_serving = False
        self._pinging: ExitStack | None = None
        """Left when the daemon is no longer to be pinged."""
        self._session = Session(settings, self._records, self._events, while_serving=self._while_serving)
        commands = Commands(hub, settings, self._session, tasks.part("commands"))
        self._session.commands.receive = commands.receive

    async def start(self) -> None:
        """Follow the daemon and the broker, each whenever it is there."""
        self._vanish("wifimgrd is not running")
        self._hub.subscribe(self._on_change)
        await self._hub.start()
        self._tasks.keep("broker", self._session.run, RECONNECT, expected=(BrokerError,), quiet=True)

    async def stop(self) -> None:
        """Publish that the hub is offline, and end."""
        await self._session.stop()
        if self._timer is not None:
            self._timer.cancel()
        await self._tasks.stop()
        await self._hub.stop()

    def _on_change(self, change: Change) -> None:
        match change:
            case DaemonAppeared():
                self._appear()
            case DaemonVanished(reason):
                self._vanish(reason)
            case ServiceChanged(service):
                self._set_hub(service)
            case DeviceAdded(device):
                self._set_device(device)
                self._follow_cameras(None, device)
            case DeviceChanged(before, after):
                self._set_device(after, describe=not is_small(before, after))
                if after.name != before.name:
                    self._discover_hub()
                self._follow_cameras(before, after)
            case DeviceRemoved(device_id):
                self._remove_device(device_id)
                self._discover_hub()
                self._set_hub(self._service)
            case InterfaceAdded(interface) | InterfaceChanged(interface):
                self._records.set(*self._interface(interface))
                self._discover_hub()
            case InterfaceRemoved(name):
                self._discover_hub()
                self._records.remove(self._topics.interface(name))
        now = time_text(time.time_ns() // 1000)
        if isinstance(change, DaemonAppeared):
            messages = self._messages.resynchronise(self._hub.service, self._hub.devices.values())
        else:
            messages = self._messages.messages(change)
        for message in messages:
            self._events.add(message, now)
        self._set_pinging()
        self._session.publish()
        self._set_timer()

    @contextmanager
    def _while_serving(self) -> Iterator[None]:
        self._is_serving = True
        self._set_pinging()
        try:
            yield
        finally:
            self._is_serving = False
            self._set_pinging()

    def _set_pinging(self) -> None:
        """Ping the daemon while the broker listens, unless every camera is disconnected: nothing wakes up
        then, and of a daemon that is frozen systemd's watchdog is soon enough."""
        is_resting = all(one.state == DeviceState.DISCONNECTED for one in self._hub.devices.values())
        is_wanted = self._is_serving and not is_resting
        if is_wanted and self._pinging is None:
            self._pinging = ExitStack()
            self._pinging.enter_context(self._hub.pinging())
        elif not is_wanted and self._pinging is not None:
            self._pinging.close()
            self._pinging = None

    def _appear(self) -> None:
        """The daemon is there: its objects are all there is."""
        self._pace.clear()
        self._service, self._is_away = self._hub.service, False
        records = [(self._topics.hub_record, self._hub_record())]
        records += map(self._interface, self._hub.interfaces.values())
        records += [one for one in map(self._device, self._hub.devices.values()) if one is not None]
        # In the order of publication: of a discovery message, what it names is already there.
        if self._discovery is not None:
            records.insert(0, self._discovery.record)
            records.append(self._hub_discovery(self._discovery))
            records += map(self._discovery.camera, self._hub.devices.values())
        self._records.replace({**dict(records), self._topics.availability: ONLINE})

    def _vanish(self, reason: str) -> None:
        """The daemon is away: the records may be out of date, which `availability` says. Of a change that was
        held back, the device is not known any longer."""
        self._pace.clear()
        self._is_away = True
        self._records.set(self._topics.availability, OFFLINE)
        gone = replace(self._service, backend_state="unavailable", backend_reason=reason)
        self._set_hub(replace(gone, total_interfaces=0, assigned_interfaces=0))

    def _set_hub(self, service: ServiceRecord) -> None:
        self._service = service
        self._records.set(self._topics.hub_record, self._hub_record())

    def _discover_hub(self) -> None:
        if self._discovery is not None:
            self._records.set(*self._hub_discovery(self._discovery))

    def _hub_discovery(self, discovery: Discovery) -> tuple[str, bytes]:
        interfaces, devices = self._hub.interfaces, self._hub.devices
        keepers = {name: devices.get(one.reserved_device_id or 0) for name, one in interfaces.items()}
        reserved = {name: device.name for name, device in keepers.items() if device is not None}
        records = any(device.camera is not None for device in devices.values())
        return discovery.hub(self._service.version, interfaces, reserved, records=records)

    def _hub_record(self) -> bytes:
        hub, epoch, settings = self._topics.hub, self._events.epoch, self._settings
        record = hub_json(
            hub,
            self._service,
            epoch,
            commands=settings.commands,
            devices=self._hub.devices.values(),
            page=settings.page,
            is_away=self._is_away,
        )
        return encoded(record)

    def _set_device(self, device: DeviceRecord, *, describe: bool = True) -> None:
        """The record of a device, and with `describe` its message for Home Assistant."""
        record = self._device(device)
        if record is not None:
            self._records.set(*record)
        if self._discovery is not None and describe:
            self._records.set(*self._discovery.camera(device))

    def _follow_cameras(self, before: DeviceRecord | None, after: DeviceRecord) -> None:
        """A device was changed, or added: the hub's own record and message may say something else."""
        could, can = before is not None and before.camera is not None, after.camera is not None
        if could is not can:
            self._discover_hub()
        if before is None or _in_rig(before) != _in_rig(after):
            self._set_hub(self._service)

    def _remove_device(self, device_id: int) -> None:
        self._pace.forget(device_id)
        if self._discovery is not None:
            self._records.remove(self._topics.discovery(self._discovery.prefix, device_id))
        self._records.remove(self._topics.device(device_id))

    def _device(self, device: DeviceRecord) -> tuple[str, bytes] | None:
        """The record of a device, unless it is held back."""
        shown = self._pace.offer(device, asyncio.get_running_loop().time())
        return None if shown is None else (self._topics.device(device.id), encoded(device_json(shown)))

    def _interface(self, interface: InterfaceRecord) -> tuple[str, bytes]:
        return self._topics.interface(interface.name), encoded(interface_json(interface))

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._pace.next_due()
        if due is not None:
            self._timer = asyncio.get_running_loop().call_at(due, self._publish_due)

    def _publish_due(self) -> None:
        for device_id in self._pace.due(asyncio.get_running_loop().time()):
            device = self._hub.devices.get(device_id)
            if device is not None:
                self._set_device(device, describe=False)
        self._session.publish()
        self._set_timer()


def _in_rig(camera: DeviceRecord) -> tuple[object, ...]:
    """The values of a camera that the hub's own record counts or names."""
    return camera.expected, is_recording(camera), camera.name, tuple(found_at(camera))
