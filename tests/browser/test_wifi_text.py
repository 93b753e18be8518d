"""Texts of Wi-Fi QR codes: what the page reads in them, which is what the command line reads."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Final

from tests.faults.random_life import seed
from tests.programs import node
from tests.soak import examples
from tests.wifi_texts import CASES
from wifimgrd.cli._wifi_text import wifi_text

READ: Final = """
import { readFileSync } from "node:fs";
import { build } from "esbuild";
const built = await build({ entryPoints: ["src/wifi_text.ts"], bundle: true, format: "esm", write: false });
const { wifiText } = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((text) => wifiText(text))));
"""
PARTS: Final = (
    "WIFI:", "wifi:", "S:", "P:", "T:", "E:", "I:", "H:true", "K1:", "WPA", "WPA2-EAP", "nopass", "WEP",
    "CAM", "12345678", ";", ";", ";", ";;", "\\", "\\\\", "\\;", ":", ",", '"', '\\"', " ", "\t",
    "\r\n", "\x01", "\x7f", "\x85", "\xa0", "\ufeff", "\u2028", "\u0131", "\u017f", "\u212a", "\u0130",
    "\u00e9", "\U0001f4f7", "x" * 250,
)  # fmt: skip
"""What random texts are made of."""

Found = tuple[str, str] | str | None


def read_by_page(texts: Sequence[str]) -> list[Found]:
    read = json.loads(node(READ, given=json.dumps(texts)))
    return [one and (one["unsupported"] or one["fault"] or (one["ssid"], one["password"])) for one in read]


def test_what_other_programs_write_is_read() -> None:
    assert dict(zip(CASES, read_by_page(list(CASES)), strict=True)) == CASES


def test_of_any_text_both_read_the_same() -> None:
    chance = random.Random(seed())
    heads = ("", "WIFI:", "WIFI:S:CAM;", "WIFI:S:CAM;P:12345678;")
    texts = [
        chance.choice(heads) + "".join(chance.choices(PARTS, k=chance.randrange(9)))
        for _ in range(examples(5_000))
    ]
    read = 0
    for text, found in zip(texts, read_by_page(texts), strict=True):
        ours = wifi_text(text)
        assert (ours and (ours.unsupported or ours.fault or (ours.ssid, ours.password))) == found, text
        read += ours is not None
    assert read > len(texts) / 10
