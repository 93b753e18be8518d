"""Devices over HTTP, on the real daemon."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.cli._models import known_models
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera_model import CameraModel, CameraModels, FormField, Snapshot, Wizard
from wifimgrd.domain.errors import DeviceNotFound
from wifimgrd.http.settings import Settings


def camera(number: int, **more: Any) -> dict[str, Any]:
    """What a client posts to register a simulated camera."""
    settings = {"ssid": f"SIM-CAM-{number}", "password": f"camera-pass-{number}"}
    return {"codename": "insta360-x4", "connection_type": "wifi", "connection_settings": settings, **more}


async def test_a_created_device_is_answered_as_its_record(shim: Served) -> None:
    answer = await shim.post(P + "/", json=camera(1))
    assert answer.status == 201
    record = answer.json
    assert answer.headers["Location"] == f"{P}/{record['id']}/"
    assert record["name"] == "SIM-CAM-1"
    assert record["codename"] == "insta360-x4"
    assert record["connection_type"] == "wifi"
    assert record["connection_settings"] == {"ssid": "SIM-CAM-1"}
    assert "camera-pass-1" not in answer.data.decode()
    assert (await shim.get(answer.headers["Location"])).json["id"] == record["id"]


async def test_a_device_with_the_platforms_codename_is_woken_and_records(
    shim: Served, hub: HubClient
) -> None:
    settings = {"ssid": "X4 SIM360.OSC", "password": "insta-pass-1"}
    wanted = camera(1, codename="insta360_x4", connect=False, connection_settings=settings)
    record = (await shim.post(P, json=wanted)).json
    assert (record["codename"], record["warnings"], record["auto_wake"]) == ("insta360_x4", [], False)
    device_id = record["id"]
    answer = await shim.post(f"{P}/wifi/connect?device_id={device_id}&wake=1&wait=60")
    assert (answer.status, answer.json["status"]) == (200, "connected")
    await hub.wait_until(lambda hub: hub.devices[device_id].camera is not None, 20)
    answer = await shim.ask("PUT", f"{P}/{device_id}/recording", json={"recording": True})
    assert (answer.status, answer.json["recording"]) == (200, True)


async def test_a_device_of_an_unknown_model_has_a_warning_that_names_the_closest_one(shim: Served) -> None:
    record = (await shim.post(P, json=camera(1, codename="insta360_x33"))).json
    assert record["codename"] == "insta360_x33"
    assert record["warnings"] == [
        'The model "insta360_x33" is not in the catalog; the closest one is insta360-x3.'
    ]


async def test_a_device_has_the_name_that_it_is_given(shim: Served) -> None:
    assert (await shim.post(P, json=camera(1, name="Front"))).json["name"] == "Front"


async def test_a_device_begins_with_its_pin_and_is_not_connected_if_it_is_not_to_be(shim: Served) -> None:
    wanted = {"pin": {"usb_port": "1-1.2"}, "connect": False, "when_free": True}
    record = (await shim.post(P, json=camera(1, **wanted))).json
    assert (record["pin"], record["last_connection_attempt"]) == (wanted["pin"], None)
    answer = await shim.post(P, json=camera(2, pin={"mac": "x"}, connect=1, when_free="1"))
    assert answer.status == 400
    assert {"connect", "pin", "when_free"} <= answer.json.keys()


async def test_devices_are_listed_in_order_of_id(shim: Served) -> None:
    made = [(await shim.post(P, json=camera(number))).json["id"] for number in (2, 1, 3)]
    for path in (P, P + "/"):
        assert [one["id"] for one in (await shim.get(path)).json] == made == sorted(made)


async def test_a_repeat_with_the_same_key_makes_no_second_device(shim: Served) -> None:
    headers = {"Idempotency-Key": "a1"}
    first = await shim.post(P, json=camera(1), headers=headers)
    again = await shim.post(P, json=camera(1), headers=headers)
    assert (first.status, again.status) == (201, 201)
    assert first.json["id"] == again.json["id"]
    assert first.headers["Location"] == again.headers["Location"]
    assert len((await shim.get(P)).json) == 1


async def test_a_repeat_after_the_device_was_removed_does_not_bring_it_back(shim: Served) -> None:
    headers = {"Idempotency-Key": "a1"}
    location = (await shim.post(P, json=camera(1), headers=headers)).headers["Location"]
    await shim.ask("DELETE", location)
    again = await shim.post(P, json=camera(1), headers=headers)
    assert again.problem["code"] == "device-not-found"
    assert (await shim.get(P)).json == []


@pytest.mark.parametrize("key", ["", "x" * 256, "schlüssel"])
async def test_an_absurd_key_is_refused(served: Served, fake_hub: FakeHub, key: str) -> None:
    answer = await served.post(P, json=camera(1), headers={"Idempotency-Key": key})
    assert answer.problem["code"] == "invalid-request"
    assert fake_hub.asked == []


async def test_a_change_of_one_field_leaves_the_others(shim: Served) -> None:
    location = (await shim.post(P, json=camera(1))).headers["Location"]
    renamed = await shim.ask("PATCH", location, json={"name": "Rear"})
    assert renamed.status == 200
    assert renamed.json["name"] == "Rear"
    moved = await shim.ask("PATCH", location, json={"connection_settings": {"ssid": "SIM-CAM-2"}})
    assert moved.json["connection_settings"] == {"ssid": "SIM-CAM-2"}
    assert moved.json["name"] == "Rear"
    assert (await shim.get(location)).json["name"] == "Rear"


async def test_a_new_password_is_taken_and_not_shown(shim: Served) -> None:
    location = (await shim.post(P, json=camera(1))).headers["Location"]
    body = {"connection_settings": {"password": "another-secret"}}
    answer = await shim.ask("PATCH", location, json=body)
    assert answer.status == 200
    assert "another-secret" not in answer.data.decode()


@pytest.mark.parametrize(
    "declared", ["application/merge-patch+json", "application/json; charset=utf-8", None]
)
async def test_a_change_may_be_declared_as_a_merge_patch(shim: Served, declared: str | None) -> None:
    location = (await shim.post(P, json=camera(1))).headers["Location"]
    headers = {} if declared is None else {"Content-Type": declared}
    skipped = ["Content-Type"] if declared is None else []
    answer = await shim.ask(
        "PATCH", location, data=b'{"name": "Rear"}', headers=headers, skip_auto_headers=skipped
    )
    assert (answer.status, answer.json["name"]) == (200, "Rear")


@pytest.mark.parametrize("declared", ["text/plain", "application/json-patch+json", "nonsense"])
async def test_a_change_of_another_type_is_refused_with_the_types_that_are_taken(
    shim: Served, declared: str
) -> None:
    location = (await shim.post(P, json=camera(1))).headers["Location"]
    answer = await shim.ask("PATCH", location, data=b'{"name": "Rear"}', headers={"Content-Type": declared})
    assert (answer.status, answer.problem["code"]) == (415, "unsupported-media-type")
    assert answer.headers["Accept-Patch"] == "application/merge-patch+json, application/json"
    assert (await shim.get(location)).json["name"] == "SIM-CAM-1"


async def test_options_say_what_a_change_may_be(shim: Served) -> None:
    location = (await shim.post(P, json=camera(1))).headers["Location"]
    answer = await shim.ask("OPTIONS", location)
    assert answer.headers["Accept-Patch"] == "application/merge-patch+json, application/json"


@pytest.mark.parametrize(("text", "is_kept"), [("true", False), ("1", False), ("false", True), ("0", True)])
async def test_a_switch_in_the_query_is_a_number_or_a_word(
    shim: Served, hub: HubClient, text: str, is_kept: bool
) -> None:
    location = (await shim.post(P, json=camera(1))).headers["Location"]
    await hub.wait_until(lambda client: client.devices[1].state == "connected", 5)
    assert (await shim.ask("DELETE", f"{location}?history={text}")).status == 204
    rows = (await shim.get(P + "/history?device_id=1")).json["history"]
    assert bool(rows) == is_kept


async def test_another_word_is_not_a_switch(shim: Served) -> None:
    location = (await shim.post(P, json=camera(1))).headers["Location"]
    answer = await shim.ask("DELETE", f"{location}?history=yes")
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")
    assert answer.problem["detail"] == "history must be 0, 1, true or false"
    assert (await shim.get(location)).status == 200


async def test_a_change_of_nothing_is_answered_with_the_record(shim: Served) -> None:
    location = (await shim.post(P, json=camera(1))).headers["Location"]
    answer = await shim.ask("PATCH", location, json={"colour": "red"})
    assert (answer.status, answer.json["name"]) == (200, "SIM-CAM-1")


async def test_a_removed_device_is_gone_and_its_interface_free(shim: Served, hub: HubClient) -> None:
    location = (await shim.post(P, json=camera(1))).headers["Location"]
    await hub.wait_until(lambda client: client.devices[1].state == "connected", 5)
    answer = await shim.ask("DELETE", location)
    assert (answer.status, answer.data) == (204, b"")
    assert (await shim.get(location)).problem["code"] == "device-not-found"
    assert (await shim.get(P + "/wifi/interfaces")).json["interface_assignments"] == {}


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_an_id_that_nobody_has_is_not_found(shim: Served, method: str) -> None:
    for device_id in ("7", "0", "-1", "9" * 50):
        answer = await shim.ask(method, f"{P}/{device_id}/", json={})
        assert (answer.status, answer.problem["code"]) == (404, "device-not-found")


@pytest.mark.parametrize("device_id", ["abc", "1.0", "%2B1", "%EF%BC%91", "1%20", "0x1", "null", "1%00"])
async def test_an_id_that_is_not_a_number_is_not_an_address(served: Served, device_id: str) -> None:
    answer = await served.get(f"{P}/{device_id}/")
    assert (answer.status, answer.problem["code"]) == (404, "not-found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", P + "/", {"GET", "HEAD", "POST"}),
        ("DELETE", P, {"GET", "HEAD", "POST"}),
        ("POST", P + "/1/", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("DELETE", P + "/supported-devices/", {"GET", "HEAD"}),
        ("POST", P + "/wifi/status", {"GET", "HEAD"}),
        ("POST", P + "/wifi/interfaces", {"GET", "HEAD"}),
        ("HEAD", P + "/wifi/connect?device_id=1", {"GET", "POST"}),
        ("HEAD", P + "/wifi/disconnect/?device_id=1", {"GET", "POST"}),
        ("POST", "/healthz", {"GET", "HEAD"}),
    ],
)
async def test_a_method_that_is_not_there_is_answered_with_those_that_are(
    served: Served, method: str, path: str, allowed: set[str]
) -> None:
    answer = await served.ask(method, path)
    assert answer.status == 405
    assert set(answer.headers["Allow"].split(",")) == allowed
    if method != "HEAD":
        assert answer.problem["code"] == "method-not-allowed"


@pytest.mark.parametrize("path", ["/nowhere", P + "/1/more", P + "/wifi", "/plugin-views/x/devices/"])
async def test_an_address_that_is_not_there_is_not_found(served: Served, path: str) -> None:
    answer = await served.get(path)
    assert (answer.status, answer.problem["code"]) == (404, "not-found")


@pytest.mark.parametrize("path", [P, P + "/7", P + "/wifi/interfaces", P + "/supported-devices", "/healthz"])
async def test_every_address_answers_with_and_without_its_trailing_slash(shim: Served, path: str) -> None:
    bare, slashed = await shim.get(path), await shim.get(path + "/")
    assert (bare.status, bare.data) == (slashed.status, slashed.data)
    assert bare.status in {200, 404}


async def test_answers_on_devices_are_not_kept_by_caches(served: Served) -> None:
    for path in (P, P + "/7", P + "/wifi/interfaces", P + "/nowhere/x"):
        assert (await served.get(path)).headers["Cache-Control"] == "no-store"


async def test_answers_do_not_say_what_serves_them(served: Served) -> None:
    assert "Server" not in (await served.get(P)).headers


async def test_a_head_has_the_headers_alone(served: Served) -> None:
    answer = await served.ask("HEAD", P)
    assert (answer.status, answer.data) == (200, b"")


async def test_a_device_that_goes_while_it_is_changed_is_not_found(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.answer = DeviceNotFound("it has just gone")
    assert (await served.post(P, json=camera(1))).problem["code"] == "device-not-found"


async def test_a_create_that_the_daemon_did_not_outlive_is_unavailable(
    served: Served, fake_hub: FakeHub
) -> None:
    async def vanish(*_: Any) -> None:
        fake_hub.vanish()

    fake_hub.do = vanish  # type: ignore[method-assign]
    answer = await served.post(P, json=camera(1))
    assert (answer.status, answer.problem["code"]) == (503, "backend-unavailable")


async def test_models_are_offered_as_the_frontend_reads_them(served: Served) -> None:
    models = (await served.get(P + "/supported-devices/")).json["supported_devices"]
    assert {"insta360-x4", "gopro-hero12", "generic-wifi-camera"} <= {one["codename"] for one in models}
    for one in models:
        assert one.keys() - {"snapshot", "ssid_pattern"} == {
            "codename",
            "device_name",
            "device_image_url",
            "connection_types",
            "wizard_steps",
        }
        pattern = known_models()[one["codename"]].ssid_pattern
        assert one.get("ssid_pattern", "") == pattern
        assert ("snapshot" in one) is one["codename"].startswith("ricoh-theta-")
        [step] = one["wizard_steps"]
        assert step.keys() == {"template", "actions"}
        fields = one["connection_types"]["wifi"]["fields"]
        assert {name: field["type"] for name, field in fields.items()} == {
            "ssid": "text",
            "password": "password",
        }
        assert all(field["required"] is True and field["name"] for field in fields.values())


class TestOwnModel:
    """Where the host has a model of its own."""

    @pytest.fixture
    def settings(self) -> Settings:
        intro = 'Hold <Wi-Fi> & "OK"\nfor 3 s.\n\nIt beeps.'
        wizard = Wizard(FormField("Network"), FormField("Key", required=False), intro)
        icon = "https://cameras.example/own.svg"
        return Settings(
            models=CameraModels(
                [CameraModel("own", "Our own", icon, snapshot=Snapshot("/still.jpg"), wizard=wizard)]
            )
        )

    async def test_it_is_offered_with_its_own_form(self, served: Served) -> None:
        assert (await served.get(P + "/supported-devices/")).json == {
            "supported_devices": [
                {
                    "codename": "own",
                    "device_name": "Our own",
                    "device_image_url": "https://cameras.example/own.svg",
                    "connection_types": {
                        "wifi": {
                            "name": "Wi-Fi",
                            "fields": {
                                "ssid": {"name": "Network", "type": "text", "required": True},
                                "password": {"name": "Key", "type": "password", "required": False},
                            },
                        }
                    },
                    "wizard_steps": [
                        {
                            "template": "<p>Hold &lt;Wi-Fi&gt; &amp; &quot;OK&quot; for 3 s.</p>"
                            '<p>It beeps.</p><slot name="wizard_field_block"></slot>',
                            "actions": {
                                "right": {
                                    "type": "button",
                                    "config": {"text": "Add camera", "action": "WIZARD_ADD_DEVICE"},
                                }
                            },
                        }
                    ],
                    "snapshot": {"path": "/still.jpg", "body": None, "while_recording": True},
                }
            ]
        }


async def test_each_picture_of_a_shipped_model_is_there(served: Served) -> None:
    models = (await served.get(P + "/supported-devices/")).json["supported_devices"]
    for picture in {one["device_image_url"] for one in models}:
        answer = await served.get(picture)
        assert (answer.status, answer.headers["Content-Type"]) == (200, "image/svg+xml")
    for name in ("none.svg", "large-none.svg", "large-large-camera.svg"):
        assert (await served.get(f"/icons/{name}")).status == 404


async def test_a_picture_of_a_model_is_larger_than_its_icon(served: Served) -> None:
    [camera] = [
        model
        for model in (await served.get(P + "/supported-devices/")).json["supported_devices"]
        if model["codename"] == "generic-wifi-camera"
    ]
    assert b'width="240" height="240"' in (await served.get(camera["device_image_url"])).data
    assert b'width="24" height="24"' in (await served.get("/icons/camera.svg")).data


class TestOtherPlatform:
    """Where the configuration names the host platform."""

    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(platform="other")

    async def test_the_addresses_carry_its_name(self, served: Served) -> None:
        path = "/plugin-views/other_plugin_device_manager/devices/"
        assert (await served.get(path)).json == []
        assert (await served.get(P)).status == 404


async def test_whether_and_in_which_order_a_device_is_brought_back_can_be_said(shim: Served) -> None:
    created = await shim.post(f"{P}/", json={**camera(1), "priority": 7, "auto_reconnect": False})
    assert (created.json["priority"], created.json["auto_reconnect"]) == (7, False)
    changed = await shim.ask("PATCH", f"{P}/1/", json={"priority": -7, "auto_reconnect": True})
    assert (changed.json["priority"], changed.json["auto_reconnect"]) == (-7, True)
    refused = await shim.ask("PATCH", f"{P}/1/", json={"priority": 1001, "auto_reconnect": "yes"})
    assert refused.status == 400
    assert refused.problem["priority"] == ["Must be a whole number from -1000 to 1000."]
    assert refused.problem["auto_reconnect"] == ["Must be true or false."]


async def test_everything_that_was_said_can_be_changed(shim: Served) -> None:
    device_id = (await shim.post(P, json=camera(1))).json["id"]
    change = {
        "name": "Nose",
        "connection_settings": {"ssid": "ELSE", "password": "another-pass"},
        "codename": "insta360-x3",
        "priority": 5,
        "auto_reconnect": False,
        "pin": {"mac": "00:C0:CA:12:34:56"},
    }
    answer = await shim.ask("PATCH", f"{P}/{device_id}/", json=change)
    assert answer.status == 200
    record = answer.json
    assert record["pin"] == {"mac": "00:c0:ca:12:34:56"}
    assert (record["name"], record["codename"], record["priority"]) == ("Nose", "insta360-x3", 5)
    assert (record["connection_settings"], record["auto_reconnect"]) == ({"ssid": "ELSE"}, False)
    answer = await shim.ask("PATCH", f"{P}/{device_id}", json={"pin": {"usb_port": "1-1.2"}})
    assert answer.json["pin"] == {"usb_port": "1-1.2"}
    answer = await shim.ask("PATCH", f"{P}/{device_id}", json={"pin": None})
    assert (answer.status, answer.json["pin"]) == (200, None)


@pytest.mark.parametrize(
    "pin", [{}, [], "", "wlan0", 1, {"mac": "x"}, {"mac": "\0"}, {"mac": []}, {"\0": "x"}, {"usb_port": None}]
)
async def test_a_pin_that_is_none_is_a_field_at_fault(shim: Served, pin: object) -> None:
    device_id = (await shim.post(P, json=camera(1))).json["id"]
    answer = await shim.ask("PATCH", f"{P}/{device_id}/", json={"pin": pin})
    assert (answer.status, list(answer.problem["pin"])) == (400, answer.problem["pin"])


async def test_a_taken_name_is_a_field_at_fault(shim: Served) -> None:
    await shim.post(P, json=camera(1, name="Front"))
    answer = await shim.post(P, json=camera(2, name="Front"))
    assert (answer.status, answer.problem["name"]) == (400, ['Another camera is already named "Front".'])
    other = (await shim.post(P, json=camera(2))).json
    answer = await shim.ask("PATCH", f"{P}/{other['id']}/", json={"name": "Front"})
    assert (answer.status, answer.problem["name"]) == (400, ['Another camera is already named "Front".'])


async def test_the_same_network_twice_is_answered_with_a_warning(shim: Served) -> None:
    assert (await shim.post(P, json=camera(1, name="Front"))).json["warnings"] == []
    answer = await shim.post(P, json=camera(1))
    assert answer.status == 201
    assert answer.json["warnings"] == ['The network "SIM-CAM-1" is also registered for "Front".']


async def test_a_reserved_adapter_that_is_unplugged_is_absent_and_no_interface(
    shim: Served, hub: HubClient
) -> None:
    device_id = (await shim.post(P, json=camera(1))).json["id"]
    await shim.ask("PATCH", f"{P}/{device_id}", json={"pin": {"usb_port": "1-1.3"}})
    interfaces = f"{P}/wifi/interfaces"
    assert (await shim.get(interfaces)).json["absent_adapters"] == []
    await hub.simulate("UnplugAdapter", "s", "wlan2")
    async with asyncio.timeout(5):
        while not (answer := (await shim.get(interfaces)).json)["absent_adapters"]:
            await hub.wait_until(lambda client: bool(client.service.absent_adapters), 5)
    [absent] = answer["absent_adapters"]
    assert absent.pop("unplugged_at").endswith("Z")
    assert absent == {
        "device_id": device_id,
        "mac_address": None,
        "usb_port": "1-1.3",
        "interface": "wlan2",
        "product": "Simulated 802.11ac adapter",
        "last_device_id": None,
    }
    assert [one["name"] for one in answer["interfaces"]] == ["wlan0", "wlan1"]
    assert answer["total_interfaces"] == 2
