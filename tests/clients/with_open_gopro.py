"""Drives a GoPro by the maker's own package, over HTTP, and prints what it has read, in JSON.

Its argument is the end of the serial number, which says the address: of 289, 172.22.189.51.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import sys

from open_gopro import WiredGoPro
from open_gopro.models import constants
from open_gopro.models.constants import StatusId, settings

SET_TO = datetime.datetime(2024, 7, 5, 9, 8, 7)  # noqa: DTZ001 - the package wants it without a zone


async def main() -> None:
    async with WiredGoPro(serial=sys.argv[1]) as camera:
        command = camera.http_command
        info = (await command.get_camera_info()).data
        done = [
            (await command.set_keep_alive()).ok,
            (await command.set_date_time(date_time=SET_TO, tz_offset=60)).ok,
            (await camera.http_setting.auto_power_down.set(settings.AutoPowerDown.NEVER)).ok,
            (await command.set_turbo_mode(mode=constants.Toggle.DISABLE)).ok,
            (await command.set_preview_stream(mode=constants.Toggle.ENABLE)).ok,
            (await command.set_preview_stream(mode=constants.Toggle.DISABLE)).ok,
        ]
        clock = (await command.get_date_time()).data
        done.append((await command.set_shutter(shutter=constants.Toggle.ENABLE)).ok)
        recording = (await command.get_camera_state()).data
        done.append((await command.set_shutter(shutter=constants.Toggle.DISABLE)).ok)
        idle = (await command.get_camera_state()).data
        files = (await command.get_media_list()).data.files
        last = (await command.get_last_captured_media()).data
        metadata = (await command.get_media_metadata(path=last.as_path)).data
    told = {
        "model": info.model_name,
        "firmware": info.firmware_version,
        "done": done,
        "date": clock["date"],
        "zone": clock["tzone"],
        "battery": idle[StatusId.INTERNAL_BATTERY_PERCENTAGE],
        "card_kb": idle[StatusId.SD_CARD_CAPACITY],
        "encoding": [bool(recording[StatusId.ENCODING]), bool(idle[StatusId.ENCODING])],
        "files": [file.filename for file in files],
        "last": last.as_path,
        "times": [files[0].creation_timestamp, metadata.creation_timestamp],
    }
    sys.stdout.write(json.dumps(told))


asyncio.run(main())
