"""Whether the rig is ready: the page decides and says it as the daemon and the command line do."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.faults.random_life import seed
from tests.programs import node
from tests.soak import examples
from wifimgrd.client.json_records import device_json
from wifimgrd.domain import sentences
from wifimgrd.domain.camera import CameraReading, CameraStatus, Problem, RecordingState
from wifimgrd.domain.check import NOTHING_MORE, Wanted, check
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Ssid
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.records import DeviceRecord, device_record

DECIDED: Final = """
import { readFileSync } from "node:fs";
import { build } from "esbuild";
globalThis.navigator = { languages: ["en"] };
const entry = 'export * from "./src/check"; export { t } from "./src/messages"';
const stdin = { contents: entry, resolveDir: process.cwd(), loader: "ts" };
const built = await build({ stdin, bundle: true, format: "esm", write: false });
const page = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
const { check, readiness, t } = page;
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(({ devices, wanted }) => {
  const found = check(devices, wanted);
  const { head, clauses } = readiness(devices, found, (one) => one.name);
  return [found.map(({ id, code }) => [id, code]), t.check.sentence(head, clauses)];
})));
"""
"""The decision and the sentence of the page, for each rig of a list."""
NAMES: Final = ("Nose", "Left", "Right wing", "\u00c4rger", "Belly, below the keel", "Tail", "Chin", "Mast")
BATTERIES: Final = (None, 0, 14, 39, 40, 41, 100)
SECONDS: Final = (None, 0, 1799, 1800, 1801, 7200)
OFFSETS_US: Final = (None, 0, 499_000, -500_000, 501_000, -80_000_000)


def decided(rigs: Sequence[tuple[Sequence[DeviceRecord], Wanted]]) -> list[tuple[list[tuple[int, str]], str]]:
    """What the page finds, and how it says it."""
    given = [
        {
            "devices": [device_json(one) for one in devices],
            "wanted": {
                "recording": wanted.recording,
                "battery": wanted.battery,
                "minutes": None if wanted.time_left_us is None else wanted.time_left_us // 60_000_000,
                "clock": None if wanted.clock_us is None else wanted.clock_us // 1000,
            },
        }
        for devices, wanted in rigs
    ]
    return [
        ([(number, code) for number, code in found], sentence)
        for found, sentence in json.loads(node(DECIDED, given=json.dumps(given)))
    ]


def some_camera(number: int, chance: random.Random) -> DeviceRecord:
    """A camera in any state, fine in every second case."""
    offset_us = chance.choice(OFFSETS_US)
    reading = CameraReading(
        read_us=5_000_000,
        battery_level=chance.choice(BATTERIES),
        recording=chance.choice([None, *RecordingState]),
        time_left_s=chance.choice(SECONDS),
        clock_offset_us=offset_us,
        clock_read_us=0 if offset_us is None else 1,
    )
    is_fine = chance.random() < 0.5
    problems = () if is_fine else tuple(one for one in Problem if chance.random() < 0.15)
    device = Device(
        DeviceId(number),
        NAMES[number % len(NAMES)] + f" {number}",
        "x3",
        Ssid(b"x"),
        last_success_us=chance.choice((0, 1_000_000, 5_000_000, 9_000_000)),
    )
    return device_record(
        DeviceStatus(
            device,
            DeviceState.CONNECTED if is_fine else chance.choice(list(DeviceState)),
            "wlan0",
            reachable=is_fine or chance.random() < 0.8,
            recovery_step=None if is_fine or chance.random() < 0.8 else LinkStep.REJOIN,
            camera=None
            if chance.random() < 0.1
            else CameraStatus(reading, requested=chance.random() < 0.3, problems=problems),
        )
    )


def some_limits(chance: random.Random) -> Wanted:
    """Any limits, in units of the command line; often none."""
    return Wanted(
        chance.random() < 0.2,
        chance.choice((None, None, 0, 40, 100)),
        chance.choice((None, None, 0, 1_800_000_000)),
        chance.choice((None, None, 0, 500_000)),
    )


def test_the_page_decides_as_the_daemon_and_says_it_as_the_command_line() -> None:
    chance = random.Random(seed())
    rigs = [
        (
            [some_camera(number, chance) for number in chance.sample(range(1, 40), chance.randrange(13))],
            some_limits(chance),
        )
        for _ in range(examples(3_000))
    ]
    for (devices, wanted), (found, sentence) in zip(rigs, decided(rigs), strict=True):
        result = check(devices, wanted)
        assert found == [(one.device_id, one.code) for one in result.findings], wanted
        assert sentence == result.sentence


def test_each_sentence_about_a_rig_is_the_same_in_both() -> None:
    """Those that chance may not make: nobody, one, both, all with the same, very many."""

    def rig(*states: DeviceState) -> list[DeviceRecord]:
        return [
            device_record(
                DeviceStatus(
                    Device(DeviceId(number), f"C{number}", "x3", Ssid(b"x")), state, "wlan0", reachable=True
                )
            )
            for number, state in enumerate(states, 1)
        ]

    fine, away = DeviceState.CONNECTED, DeviceState.DISCONNECTED
    rigs = [rig(), rig(fine), rig(away), rig(fine, fine), rig(away, away), rig(*[fine] * 30)]
    rigs += [rig(*[away] * count, *[fine] * 4) for count in range(1, 30)]
    told = [sentence for _, sentence in decided([(one, NOTHING_MORE) for one in rigs])]
    assert told == [check(one).sentence for one in rigs]
    assert told[:3] == ["There is no camera to check.", "C1 is ready.", "C1 is not connected."]
    assert len(set(told)) == len(rigs)


def test_each_finding_has_its_words() -> None:
    words: Mapping[str, Any] = sentences._IN_BRIEF
    script = DECIDED.partition("console.log")[0] + "console.log(JSON.stringify(t.check.found));"
    assert json.loads(node(script, given="[]")) == {str(code): list(pair) for code, pair in words.items()}
