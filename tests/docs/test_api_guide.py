"""The examples of the API guide, run in order against `make run`."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from tests.browser.running_hub import running_hub

GUIDE = Path(__file__).parents[2] / "docs/api-guide.md"
PATIENCE_S = 60.0


def examples(language: str) -> list[str]:
    """The examples in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


async def test_the_examples_do_what_the_guide_says(tmp_path: Path) -> None:
    shell, [python], [console] = examples("sh"), examples("python"), examples("console")
    assert len(shell) >= 6
    (tmp_path / "follow.py").write_text(python, encoding="utf-8")
    (tmp_path / ".venv").symlink_to(sys.prefix)  # as in the checkout
    prefix = "/plugin-views/platform_plugin_device_manager/devices"
    async with running_hub(tmp_path) as hub:
        url = hub.url.rstrip("/")
        lines = ["set -euo pipefail -x", f"export URL={url}", f"P=$URL{prefix}", *shell]
        said = await ran("bash", "-c", "\n".join(lines), folder=tmp_path)
        assert "SIM-CAM-4 wpa3 70 %" in said
        assert "Front is connected through wlan0" in said
        said = await ran("env", f"URL={url}", "bash", "-c", console, folder=tmp_path)
        assert said == "1 devices\n"


async def ran(*command: str, folder: Path) -> str:
    """What a command says that succeeds."""
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=PIPE, stderr=STDOUT)
    async with asyncio.timeout(PATIENCE_S):
        said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()
