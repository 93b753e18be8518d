"""Emulated cameras: servers that speak as cameras do, on one model of a camera.

`EmulatedCamera` is the state: battery, card, clock, recording, what it refuses; it lives by the clocks that
it is given. `emulator(driver, camera)` makes what serves it: each of its `ports` on any stream. The simulated
world serves its cameras with it in the daemon, over pairs of sockets, and
`python -m wifimgrd.simulator.emulators PROTOCOL --listen HOST:PORT` is one camera as a program.
`GoProBluetooth` answers the messages that a GoPro gets over Bluetooth, for the same state.

What an emulator reads is hostile: heads, bodies, frames and the time for them are bounded.
"""

from wifimgrd.simulator.emulators._camera import CameraSettings, EmulatedCamera
from wifimgrd.simulator.emulators._emulators import Emulator, emulator, settings_of
from wifimgrd.simulator.emulators._gopro import GOPRO_NUMBERS, GoProEmulator
from wifimgrd.simulator.emulators._gopro_bluetooth import GoProBluetooth
from wifimgrd.simulator.emulators._osc import OscEmulator

__all__ = [
    "GOPRO_NUMBERS",
    "CameraSettings",
    "EmulatedCamera",
    "Emulator",
    "GoProBluetooth",
    "GoProEmulator",
    "OscEmulator",
    "emulator",
    "settings_of",
]
