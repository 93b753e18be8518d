"""A camera over a Bluetooth link: each protocol is a class with these methods, in one table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from wifimgrd.camera._link import Link
from wifimgrd.camera.drivers.gopro_bluetooth import GoProBluetoothDriver
from wifimgrd.camera.drivers.protocol import Answer, Request
from wifimgrd.domain.power import PairedCamera


class BluetoothCamera(ABC):
    """A camera that is connected. Its methods raise Trouble."""

    SERVICE: ClassVar[str]
    """The UUID of the service that it must offer before a bond is made."""
    NEEDS_BOND: ClassVar[bool]
    """Whether it is connected to only where this host has a bond with it."""

    def __init__(self, link: Link) -> None:
        self._link = link

    @classmethod
    @abstractmethod
    async def wants_bond(cls, link: Link) -> bool:
        """Whether the camera at a link is one that makes bonds; raises Trouble if it is another model."""

    @abstractmethod
    async def start(self) -> None:
        """Wait until the camera is ready, which each connection needs before anything else."""

    @abstractmethod
    async def wake(self) -> None:
        """Start it, wake it, and switch its access point on; returns once the camera says that it is."""

    @abstractmethod
    async def sleep(self) -> None:
        """Start it, and put it to sleep; raises CameraBusy, too, while it records."""

    @abstractmethod
    async def pair(self) -> PairedCamera:
        """Start it, read its identity and its credentials, and wake it."""

    async def keep_awake(self) -> None:
        """Keep it awake until this is cancelled, or its link ends: here the connection suffices for that."""
        await self._link.until_down()


class CommandedCamera(BluetoothCamera):
    """One that takes commands over Bluetooth, also to switch its access point off and on, and to reboot."""

    DRIVER: ClassVar[type[GoProBluetoothDriver]]
    """Which requests a command makes."""

    @abstractmethod
    async def restart_access_point(self, *, unless_recording: bool) -> None:
        """Start it, and switch its access point off and on; returns once the camera says that it is on. With
        `unless_recording`, raises CameraBusy, too, while it records."""

    @abstractmethod
    async def reboot(self) -> None:
        """Start it, and reboot it; raises CameraBusy, too, while it records."""

    @abstractmethod
    async def exchange(self, request: Request) -> Answer:
        """Send a driver's request, and return its answer with its times."""
