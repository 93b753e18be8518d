"""The dashboard and the alert rules ask for metrics that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from wifimgrd.domain.camera import LITTLE_TIME_S, LOW_BATTERY
from wifimgrd.domain.records import CameraRecord, DeviceRecord
from wifimgrd.http.settings import Settings

FOLDER = Path(__file__).parents[2] / "docs/monitoring"
DOCUMENTED = (FOLDER / "alerts.yml", FOLDER / "grafana.json", FOLDER.parent / "operating.md")


@pytest.fixture(scope="module")
def asked() -> dict[str, set[str]]:
    """The metrics that each file names."""
    return {
        file.name: {
            name
            for name in re.findall(r"\b(?:wifimgrd|process)_[a-z_]+[a-z]\b", file.read_text("utf-8"))
            if not name.startswith("wifimgrd_plugin")
        }
        for file in DOCUMENTED
    }


async def test_every_metric_that_is_asked_for_is_there(asked: dict[str, set[str]]) -> None:
    async with Served.start(FakeHub(), Settings()) as served:
        text = (await served.get("/metrics")).data.decode()
    there = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)) | set(
        re.findall(r"^(\w+)", text, re.MULTILINE)
    )
    for file, names in asked.items():
        assert names, file
        assert names <= there, file


async def test_every_value_of_a_label_that_is_asked_for_can_be_there() -> None:
    async with Served.start(FakeHub(), Settings()) as served:
        text = (await served.get("/metrics")).data.decode()
    for file in DOCUMENTED[:2]:
        rules = file.read_text("utf-8").replace('\\"', '"')
        wanted = re.findall(r'(wifimgrd_\w+)\{(?:[^}]*,)?(state|outcome|code)="([^"]*)"', rules)
        assert wanted, file
        for metric, label, value in wanted:
            samples = re.findall(rf"^{metric}\{{(.*)\}} ", text, re.MULTILINE)
            assert not samples or any(f'{label}="{value}"' in one for one in samples), (metric, value)


def test_the_dashboard_is_json_and_each_panel_asks_for_something() -> None:
    dashboard = json.loads((FOLDER / "grafana.json").read_text())
    assert len(dashboard["panels"]) >= 10
    for panel in dashboard["panels"]:
        assert all(target["expr"] for target in panel["targets"])


def test_the_alerts_of_a_camera_are_the_hubs_own_problems() -> None:
    rules = FOLDER.joinpath("alerts.yml").read_text("utf-8")
    assert f"wifimgrd_device_battery_percent < {LOW_BATTERY} unless" in rules
    assert f"wifimgrd_device_recording_left_seconds < {LITTLE_TIME_S}\n" in rules


async def test_what_an_alert_compares_has_the_same_labels() -> None:
    """`unless` matches by all labels."""
    camera = CameraRecord(
        battery_level=5, battery_state="charging", recording_state="recording", recording_requested=True
    )
    hub = FakeHub()
    async with Served.start(hub, Settings()) as served:
        hub.appear(DeviceRecord(1, "Front", state="connected", camera=camera))
        text = (await served.get("/metrics")).data.decode()
    rules = FOLDER.joinpath("alerts.yml").read_text("utf-8")
    compared = re.findall(r"expr: (wifimgrd_device_\w+) .* unless (wifimgrd_device_\w+) ", rules)
    assert len(compared) == 2
    for one, other in compared:
        labels = [re.findall(rf"^{metric}(\{{.*\}}) ", text, re.MULTILINE) for metric in (one, other)]
        assert labels == [['{device="Front"}'], ['{device="Front"}']]
