"""Connects a simulated camera by the client that openapi-python-client generates, and prints its record."""

from __future__ import annotations

import json
import sys

from generated_http import Client  # type: ignore[import-not-found]
from generated_http.api.connection import connect  # type: ignore[import-not-found]
from generated_http.api.devices import create_device, get_device  # type: ignore[import-not-found]
from generated_http.models import CreateInput  # type: ignore[import-not-found]

CAMERA = {
    "codename": "insta360-x3",
    "connection_type": "wifi",
    "connection_settings": {"ssid": "SIM-CAM-OFF", "password": "camera-pass-off"},
}

with Client(base_url=sys.argv[1]) as client:
    made = create_device.sync(client=client, body=CreateInput.from_dict(CAMERA))
    connect.sync(client=client, device_id=made.id, wait=20)
    sys.stdout.write(json.dumps(get_device.sync(made.id, client=client).to_dict()))
