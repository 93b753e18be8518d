"""The wpa_supplicant backend keeps every backend's promises, on real 802.11 and without NetworkManager."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from tests.daemon.backends.conformance import BackendConformance
from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon.backends.wpa_supplicant import WpaSupplicantBackend
from wifimgrd.helper._link_files import LinkConfiguration, LinkFiles
from wifimgrd.helper._networkd_links import NetworkdLinks
from wifimgrd.kernel.links import permanent_address
from wifimgrd.runtime.tasks import Tasks

from .backend_stage import LabStage, systemctl
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.services import SUPPLICANT
from .guest.traffic import fetch
from .networkmanager_listener import Memory, request_for
from .supplicant_changes import add_network, limit_networks, register_interface

pytestmark = pytest.mark.without_networkmanager


class WpaSupplicantStage(LabStage):
    """The lab, with wpa_supplicant as the other side; while it is stopped, the bus does not start it."""

    async def stop_other_side(self) -> None:
        await systemctl("mask", "--runtime", "--now", SUPPLICANT)

    async def start_other_side(self) -> None:
        await systemctl("unmask", "--runtime", SUPPLICANT)


class TestWpaSupplicantBackend(BackendConformance):
    @pytest.fixture
    async def stage(
        self, cameras: Callable[..., Camera], adapters: Callable[..., Adapter]
    ) -> AsyncIterator[LabStage]:
        connection = await BusConnection.open("system")
        links = NetworkdLinks(connection, LinkFiles())

        async def configure(name: str, local_address: str) -> None:
            assert not local_address
            index = socket.if_nametoindex(name)
            await links.configure(LinkConfiguration(name, index, permanent_address(name).hex(":")))

        async def request_lease(name: str) -> None:
            await links.request_lease(name, socket.if_nametoindex(name))

        async def restart_link(name: str) -> None:
            for state in ("down", "up"):
                await asyncio.to_thread(run, "ip", "link", "set", name, state)

        memory = Memory()
        plugged = {adapter.interface: adapter for adapter in (adapters(), adapters())}
        stage = WpaSupplicantStage(
            cameras("A"),
            plugged,
            adapters,
            lambda: WpaSupplicantBackend(
                memory,
                Tasks("test"),
                register_interface=register_interface,
                add_network=add_network,
                limit_networks=limit_networks,
                configure_link=configure,
                request_lease=request_lease,
                release_link=links.release,
                restart_link=restart_link,
            ),
        )
        await stage.start()
        yield stage
        await stage.end()
        await stage.start_other_side()
        await links.clear()
        await connection.close()

    @pytest.mark.parametrize(
        ("security", "hidden"), [("sae-mixed", False), ("open", False), ("wpa2", True), ("sae", True)]
    )
    async def test_networks_of_each_kind_are_joined_with_the_permanent_address(
        self, stage: LabStage, cameras: Callable[..., Camera], security: str, hidden: bool
    ) -> None:
        camera, interface = cameras("S", security=security, hidden=hidden), stage.adapters[0]
        await stage.backend.join(replace(request_for(interface, camera), hidden=hidden))
        assert fetch(interface) == "S"
        assert camera.joins() == [permanent_address(interface).hex(":")]
