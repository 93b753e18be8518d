"""Drives a GoPro at 10.5.5.9 by goprocam, which knows HERO3 to HERO10, and prints what it has read: JSON."""

from __future__ import annotations

import contextlib
import json
import sys

from goprocam import GoProCamera, constants  # type: ignore[import-not-found]

with contextlib.redirect_stdout(sys.stderr):  # it talks
    camera = GoProCamera.GoPro()
    told = {
        "model": camera.infoCamera(constants.Camera.Name),
        "kind": camera.whichCam(),
        "battery": camera.getStatus(constants.Status.Status, constants.Status.STATUS.BattPercent),
        "recording": [camera.IsRecording()],
    }
    camera.syncTime()
    camera.mode(constants.Mode.VideoMode)
    camera.shutter(constants.start)
    told["recording"].append(camera.IsRecording())
    camera.shutter(constants.stop)
    told["recording"].append(camera.IsRecording())
    told["media"] = camera.getMedia()
    camera.power_off()
sys.stdout.write(json.dumps(told))
