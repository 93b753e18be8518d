"""Cameras on real 802.11 whose access points are on the air while their emulated Bluetooth sides say so."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..guest.access_point import Camera
from .world import Air, another_control

_PAUSE_S = 0.05


@dataclass
class _Pair:
    """One camera: its Wi-Fi, and its Bluetooth by its name in the air."""

    camera: Camera
    name: str
    flag: str
    """What its state calls the access point."""
    is_on: bool = False

    def follow(self, air: Air) -> None:
        """Switch the access point as the Bluetooth side has it."""
        wanted = bool(air.state(self.name)[self.flag])
        if wanted != self.is_on:
            (self.camera.on if wanted else self.camera.stop)()
            self.is_on = wanted


Follow = Callable[[Camera, str, str], None]
"""Have a camera, which is on, follow its Bluetooth side."""


@contextmanager
def following() -> Iterator[Follow]:
    """Have access points follow, each from when it is given."""
    pairs: list[_Pair] = []
    ended = threading.Event()
    faults: list[BaseException] = []

    def watch() -> None:
        try:
            with another_control() as air:
                while not ended.wait(_PAUSE_S):
                    for pair in pairs:
                        pair.follow(air)
        except BaseException as fault:  # noqa: BLE001 - the test is told
            faults.append(fault)

    def follow(camera: Camera, name: str, flag: str) -> None:
        camera.stop()
        pairs.append(_Pair(camera, name, flag))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield follow
    finally:
        ended.set()
        thread.join()
    assert faults == []
