"""MAVSDK as a ground station: `python with_mavsdk.py PORT CAMERAS`; prints what it sees, as lines of JSON.

It prints the names of the cameras by component, then starts all of them at once and prints each result and
after how many seconds it came, then what it is told of their recordings; after a line the same of a stop.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from mavsdk import ComponentType, Configuration, Mavsdk  # type: ignore[import-not-found]
from mavsdk.plugins.camera import Camera, CameraError  # type: ignore[import-not-found]

PATIENCE_S = 50.0


def until(holds: Any) -> None:
    ends_s = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > ends_s:
            sys.exit("it took too long")
        time.sleep(0.05)


def are_told(videos: dict[int, bool], count: int, most: int, *, on: bool) -> bool:
    """Whether most of all cameras are told to record, or not to."""
    return len(videos) == count and (sum(videos.values()) >= most) is on


def tell(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def main() -> None:
    port, count = sys.argv[1], int(sys.argv[2])
    station = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
    station.add_any_connection(f"udpin://127.0.0.1:{port}")
    until(station.get_systems)
    [system] = station.get_systems()
    camera = Camera(system)
    until(lambda: len(camera.camera_list().cameras) == count)
    names = {one.component_id: one.model_name for one in camera.camera_list().cameras}
    tell(names=names)
    videos: dict[int, bool] = {}
    told = threading.Lock()

    def storage(update: Any, _: object) -> None:
        with told:
            videos[update.component_id] = bool(update.storage.video_on)

    camera.subscribe_storage(storage)

    def command(component: int, *, on: bool) -> tuple[str, float]:
        began_s = time.monotonic()
        try:
            result = (camera.start_video if on else camera.stop_video)(component)
        except CameraError as error:
            result = error.result
        return str(result.name), time.monotonic() - began_s

    for on in (True, False):
        with ThreadPoolExecutor(len(names)) as threads:
            results = threads.map(partial(command, on=on), names)
            tell(on=on, results=dict(zip(names.values(), results, strict=True)))
        most = count - 1  # one may be told to answer nothing
        until(partial(are_told, videos, count, most, on=on))
        tell(on=on, videos={names[one]: video for one, video in videos.items()})
        sys.stdin.readline()
    station.destroy()


if __name__ == "__main__":
    main()
