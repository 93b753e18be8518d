"""Drives an Insta360 at its ports 6666 and 80, by the package insta360.

Its argument is the address. It carries out the commands of its input, a line each, and prints an answer to
each, in JSON.
"""

from __future__ import annotations

import json
import sys

from insta360.rtmp import Client  # type: ignore[import-not-found]

camera = Client(host=sys.argv[1])
try:
    answer: object = camera.open()
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        command = line.strip()
        if command == "info":
            answer = camera.get_camera_info()["value"]
        elif command == "status":
            answer = camera.get_capture_current_status()["status"].get("state", "NOT_CAPTURE")
        elif command == "files":
            answer = len(camera.get_camera_files_list().uri)
        elif command == "start":
            answer = camera.start_capture()
        else:
            answer = camera.stop_capture()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
finally:
    camera.close()
