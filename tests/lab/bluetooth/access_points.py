"""Cameras on real 802.11 whose access points are on the air while their emulated Bluetooth sides say so."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..guest.access_point import Camera
from .world import Air, another_control

_PAUSE_S = 0.05


@dataclass
class Follower:
    """One camera's access point, and its Bluetooth by its name in the air."""

    camera: Camera
    name: str
    flag: str
    """What its state calls the access point."""
    is_on: bool = False
    starts_s: list[float] = field(default_factory=list)
    """How long each of its starts has taken."""

    def follow(self, air: Air) -> None:
        """Switch the access point as the Bluetooth side has it."""
        wanted = bool(air.state(self.name)[self.flag])
        if wanted != self.is_on:
            began_s = time.monotonic()
            (self.camera.on if wanted else self.camera.stop)()
            self.is_on = wanted
            if wanted:
                self.starts_s.append(time.monotonic() - began_s)


Follow = Callable[[Camera, str, str], Follower]
"""Have a camera, which is on, follow its Bluetooth side."""


@contextmanager
def following() -> Iterator[Follow]:
    """Have access points follow, each from when it is given."""
    followers: list[Follower] = []
    ended = threading.Event()
    faults: list[BaseException] = []

    def watch() -> None:
        try:
            with another_control() as air:
                while not ended.wait(_PAUSE_S):
                    for follower in followers:
                        follower.follow(air)
        except BaseException as fault:  # noqa: BLE001 - the test is told
            faults.append(fault)

    def follow(camera: Camera, name: str, flag: str) -> Follower:
        camera.stop()
        followers.append(Follower(camera, name, flag))
        return followers[-1]

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield follow
    finally:
        ended.set()
        thread.join()
    assert faults == []
