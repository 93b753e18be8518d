"""The camera models that a client can offer."""

from __future__ import annotations

from aiohttp import web

from wifimgrd.catalog import Models as Catalog
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.domain.camera_model import CameraModel
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.body_types import ModelJson, ModelsJson
from wifimgrd.http.description.operations import operation
from wifimgrd.http.json_text import json_response
from wifimgrd.http.live import live
from wifimgrd.http.routes import Routes


class Models:
    """The resource at `P/supported-devices/`."""

    def __init__(self, client: HubClient, prefix: str, models: Catalog) -> None:
        self._client = client
        self._prefix = prefix
        self._models = models

    def add_to(self, routes: Routes) -> None:
        """Wire the address."""
        routes.add("GET HEAD", self._prefix + "/supported-devices/", self.list)

    @operation("list_models", "devices", answer=ModelsJson, errors=(ErrorCode.BACKEND_UNAVAILABLE,))
    async def list(self, _: web.Request) -> web.Response:
        """Every model, with the fields that a form for it needs."""
        live(self._client)
        answer: ModelsJson = {"supported_devices": [model_json(model) for model in self._models.values()]}
        return json_response(answer)


def model_json(model: CameraModel) -> ModelJson:
    """A model as the platform's frontend reads it."""
    wizard = model.wizard
    return {
        "codename": model.codename,
        "device_name": model.device_name,
        "device_image_url": model.icon or None,
        "connection_types": {
            "wifi": {
                "name": "Wi-Fi",
                "fields": {
                    "ssid": {"name": wizard.ssid.name, "type": "text", "required": wizard.ssid.required},
                    "password": {
                        "name": wizard.password.name,
                        "type": "password",
                        "required": wizard.password.required,
                    },
                },
            }
        },
        "wizard_steps": [],
    }
