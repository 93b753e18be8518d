"""`wifimgrctl camera trace`: what a camera answers, for those who write drivers."""

from __future__ import annotations

import argparse
import logging
from functools import partial

from wifimgrd.camera import traces
from wifimgrd.cli._camera_files import write_new
from wifimgrd.cli._finding import find_device
from wifimgrd.cli._models import known_models
from wifimgrd.cli._outcome import title
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import safe
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera import CameraDriver
from wifimgrd.domain.errors import InvalidRequest, NotConnected, NotSupported
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.runtime import logging as log

_YES = ("y", "yes")


async def camera(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Record a trace of a connected camera, show it, and write it to a new file if that is wanted.

    Raises NotConnected, NotSupported, InvalidRequest.
    """
    log.configure(logging.CRITICAL)  # what a session would log is in the trace
    device = find_device(hub.devices, arguments.device)
    driver, file = _driver(device, arguments.driver), arguments.file
    if file.exists():
        raise InvalidRequest(f"{file} is there already: a trace is written to a new file")
    if not device.is_connected:
        raise NotConnected(f"{title(device)} is not connected: connect it first")
    screen.progress(f"Reading {title(device)} for some seconds ...")
    try:
        open_socket = partial(hub.open_connection, device.id)
        found, reading = await traces.record(driver, open_socket, is_to_record=arguments.record)
    finally:
        screen.progress("")
    if not any(piece.is_camera for piece in found.pieces):
        screen.fail("device-not-reachable", f"{title(device)} said nothing to the driver {driver}")
        return False
    text = found.without(traces.secrets_of(device.ssid, reading)).text()
    if not screen.json:
        screen.show(None, text.splitlines(), as_is=True)
    screen.hint(
        "What may be secret is replaced where it was recognized: please read all of it before you send it."
    )
    if screen.can_ask and not arguments.yes:
        answer = await screen.ask(f"Write it to {safe(file)}? [y/N]")
        if answer.lower() not in _YES:
            screen.hint("Nothing was written.")
            return False
    write_new(file, text)
    understood = bool(reading.read_us)
    said = "" if understood else ", which the driver did not understand"
    value = {"file": str(file), "driver": driver.value, "understood": understood}
    screen.show(value, [f"{safe(file)} has what {title(device)} said{said}."])
    return True


def _driver(device: DeviceRecord, wanted: str | None) -> CameraDriver:
    """The driver to try: the one that was named, or that of the device's model; raises NotSupported."""
    if wanted is not None:
        return CameraDriver(wanted)
    model = known_models().get(device.codename or "")
    if model is None or model.control is None:
        known = ", ".join(CameraDriver)
        raise NotSupported(f"no driver is known for {device.codename}: name one to try, --driver ({known})")
    return model.control.driver
