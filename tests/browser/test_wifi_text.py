"""Texts of Wi-Fi QR codes, as other programs write them, and what the page reads in them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.wifi_texts import CASES

FRONTEND = Path(__file__).parents[2] / "frontend"

READ = """
import { build } from "esbuild";
const built = await build({ entryPoints: ["src/wifi_text.ts"], bundle: true, format: "esm", write: false });
const { wifiText } = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
console.log(JSON.stringify(JSON.parse(process.argv[1]).map((text) => wifiText(text))));
"""


def test_what_other_programs_write_is_read() -> None:
    read = subprocess.run(
        ["node", "--input-type=module", "-e", READ, json.dumps(list(CASES))],
        cwd=FRONTEND,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (read.stderr, read.returncode) == ("", 0)
    found = [one and (one["ssid"], one["password"]) for one in json.loads(read.stdout)]
    assert dict(zip(CASES, found, strict=True)) == CASES
