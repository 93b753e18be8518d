"""The camera models that a client can offer."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from aiohttp import web

from wifimgrd.client.commands import available
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera_model import CameraModel, CameraModels, Wizard
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation
from wifimgrd.http._routes import Routes
from wifimgrd.http.api.body_types import ModelJson, ModelsJson, StepJson
from wifimgrd.http.page.files import LARGE

_ICONS: Final = "/icons/"
_FORM: Final = '<slot name="wizard_field_block"></slot>'
"""The place in the platform's page for the fields of the connection type."""


class Models:
    """The resource at `P/supported-devices/`."""

    def __init__(self, client: HubClient, prefix: str, models: CameraModels) -> None:
        self._client = client
        self._prefix = prefix
        self._models = models

    def add_to(self, routes: Routes) -> None:
        """Add the route."""
        routes.add("GET HEAD", self._prefix + "/supported-devices/", self.list)

    @Operation("list_models", "devices", answer=ModelsJson, errors=(ErrorCode.BACKEND_UNAVAILABLE,))
    async def list(self, _: web.Request) -> web.Response:
        """Every model, with the fields that a form for it needs."""
        available(self._client)
        answer: ModelsJson = {"supported_devices": [model_json(model) for model in self._models.values()]}
        return json_response(answer)


def model_json(model: CameraModel) -> ModelJson:
    """A model in the format of the platform's frontend."""
    wizard = model.wizard
    answer: ModelJson = {
        "codename": model.codename,
        "device_name": model.device_name,
        "device_image_url": _picture(model.icon),
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
        "wizard_steps": [step_json(wizard)],
    }
    if model.ssid_pattern:
        answer["ssid_pattern"] = model.ssid_pattern
    if (snapshot := model.snapshot) is not None:
        answer["snapshot"] = {
            "path": snapshot.path,
            "body": snapshot.body or None,
            "while_recording": snapshot.while_recording,
        }
    return answer


def _picture(icon: str) -> str | None:
    """The address of a picture: an icon of this service in a larger size, or the catalog's own address."""
    if icon.startswith(_ICONS):
        return f"{_ICONS}{LARGE}{icon.removeprefix(_ICONS)}"
    return icon or None


def step_json(wizard: Wizard) -> StepJson:
    """The only page of the platform's wizard: what to do first, the form, and its submit button."""
    paragraphs = re.split(r"\n\s*\n", wizard.intro.strip())
    intro = "".join(f"<p>{escape(' '.join(one.split()))}</p>" for one in paragraphs)
    return {
        "template": intro + _FORM,
        "actions": {
            "right": {"type": "button", "config": {"text": "Add camera", "action": "WIZARD_ADD_DEVICE"}}
        },
    }
