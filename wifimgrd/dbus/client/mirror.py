"""The copy itself: what the daemon's objects and signals say, as records. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import Signal
from wifimgrd.dbus.client.changes import (
    AttemptFailed,
    Change,
    DeviceAdded,
    DeviceChanged,
    DeviceRemoved,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    ServiceChanged,
)
from wifimgrd.dbus.client.records import DeviceRecord, InterfaceRecord, Properties, ServiceRecord
from wifimgrd.domain.interface import natural_key

Objects = Mapping[str, Mapping[str, Properties]]
"""Object path -> D-Bus interface -> properties, as GetManagedObjects answers."""


class Mirror:
    """Devices, interfaces and the service, changed by the daemon's signals alone."""

    def __init__(self) -> None:
        self.service = ServiceRecord()
        self.devices: dict[int, DeviceRecord] = {}
        self.interfaces: dict[str, InterfaceRecord] = {}

    @classmethod
    def of_objects(cls, objects: Objects) -> Mirror:
        """A copy of everything that GetManagedObjects told."""
        mirror = cls()
        for path, faces in objects.items():
            for _ in mirror._added(path, faces):
                continue
        return mirror

    def apply(self, signal: Signal) -> Iterable[Change]:
        """Take a signal in and say what it changed."""
        match signal.interface, signal.member:
            case names.OBJECT_MANAGER, "InterfacesAdded":
                return self._added(signal.body[0], signal.body[1])
            case names.OBJECT_MANAGER, "InterfacesRemoved":
                return self._removed(signal.body[0])
            case names.PROPERTIES, "PropertiesChanged":
                return self._properties(signal.path, signal.body[0], signal.body[1])
            case names.DEVICE, "ConnectionFailed":
                device_id = names.device_id_of(signal.path)
                if device_id is not None:
                    return [AttemptFailed(device_id, signal.body[0], signal.body[1])]
        return []

    def _added(self, path: str, faces: Mapping[str, Properties]) -> list[Change]:
        if names.DEVICE in faces and (device_id := names.device_id_of(path)) is not None:
            device = DeviceRecord(device_id).updated(faces[names.DEVICE])
            ordered = not self.devices or device_id > next(reversed(self.devices))
            self.devices[device_id] = device
            if not ordered:
                self.devices = dict(sorted(self.devices.items()))
            return [DeviceAdded(device)]
        if names.INTERFACE in faces and (name := names.interface_name_of(path)) is not None:
            interface = InterfaceRecord(name).updated(faces[names.INTERFACE])
            self.interfaces[name] = interface
            self.interfaces = dict(sorted(self.interfaces.items(), key=lambda item: natural_key(item[0])))
            return [InterfaceAdded(interface)]
        if names.MANAGER in faces:
            self.service = self.service.updated(faces[names.MANAGER])
        return []

    def _removed(self, path: str) -> list[Change]:
        device_id = names.device_id_of(path)
        if device_id is not None and self.devices.pop(device_id, None) is not None:
            return [DeviceRemoved(device_id)]
        name = names.interface_name_of(path)
        if name is not None and self.interfaces.pop(name, None) is not None:
            return [InterfaceRemoved(name)]
        return []

    def _properties(self, path: str, face: str, properties: Properties) -> list[Change]:
        changed = frozenset(properties)
        device_id = names.device_id_of(path)
        name = names.interface_name_of(path)
        if face == names.DEVICE and device_id is not None and device_id in self.devices:
            device = self.devices[device_id] = self.devices[device_id].updated(properties)
            return [DeviceChanged(device, changed)]
        if face == names.INTERFACE and name is not None and name in self.interfaces:
            interface = self.interfaces[name] = self.interfaces[name].updated(properties)
            return [InterfaceChanged(interface)]
        if face == names.MANAGER and path == names.ROOT_PATH:
            self.service = self.service.updated(properties)
            return [ServiceChanged(self.service, changed)]
        return []
