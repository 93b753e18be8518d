"""What bash and zsh complete, by the files that the packages have."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.running import PROGRAM, Terminal, environment, on_terminal
from tests.processes import Hub
from wifimgrd.cli._arguments import COMMAND_OF

MAKE = Path(__file__).parents[2] / "packaging" / "make_completions"
REAL = Path(PROGRAM).parent
NOWHERE = "unix:path=/nowhere"
HOSTILE = "T$(touch hit)`touch hit`;touch hit"
KILL_LINE = "\x15"
PRINTING = f"""#!/bin/sh
case $2 in
    devices) cat <<'END' ;;
1\tNose camera
2\tT
Nose camera\tdevice 1
{HOSTILE}\tdevice 2
*l.bash\tdevice 3
END
    interfaces) printf '%s\\tfree\\n' wlan0 wlan1 wlan2 ;;
    codenames) printf 'insta360-x3\\tInsta360 X3\\n' ;;
esac
"""
"""What `wifimgrctl completions` prints, without the wait for it."""
BASH = """
source "$0"
while read -r line; do
    eval "COMP_WORDS=($line)"
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _shtab_wifimgrctl
    (IFS='|'; echo "${COMPREPLY[*]}")
done
"""


@pytest.fixture(scope="module")
def completions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the packages' build makes."""
    folder = tmp_path_factory.mktemp("completions")
    subprocess.run([sys.executable, MAKE, folder], check=True)
    return folder


@pytest.fixture(scope="module")
def printing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a `wifimgrctl` that prints words of a service."""
    program = tmp_path_factory.mktemp("printing") / "wifimgrctl"
    program.write_text(PRINTING)
    program.chmod(0o755)
    return program.parent


def path(programs: Path) -> str:
    return f"{programs}:{os.environ['PATH']}"


async def in_bash(folder: Path, programs: Path, *lines: str, bus: str = NOWHERE) -> list[str]:
    """What bash completes at the end of each line, whose words are quoted as they are typed."""
    process = await asyncio.create_subprocess_exec(
        *("bash", "--norc", "-c", BASH, str(folder / "wifimgrctl.bash")),
        stdin=PIPE, stdout=PIPE, cwd=folder, env=environment(bus, PATH=path(programs)),
    )  # fmt: skip
    out, _ = await process.communicate("".join(f"wifimgrctl {line}\n" for line in lines).encode())
    return out.decode().splitlines()


async def test_bash_completes(completions: Path, printing: Path) -> None:
    expected = {
        "dis": "disconnect",
        "--json dis": "disconnect",
        "--vers": "--version",
        "restore --re": "--replace",
        "restore _": "_wifimgrctl",
        "models --config wi": "wifimgrctl.bash",
        "tiles ''": "list|check",
        "tiles check --u": "--url",
        "simulate p": "power-on|power-off|plug",
        "simulate power-off --c": "--cut",
        "completions ''": "devices|interfaces|codenames|groups",
        "help se": "set|setup",
        "--bus ''": "session|system",
        "set 1 --auto-wake ''": "yes|no",
        "set 1 --auto-wake y": "yes",
        "setup --country ''": "",
        "add --codename ''": "insta360-x3",
        "connect ''": f"1|2|Nose camera|{HOSTILE}|*l.bash",
        "connect 1 'N'": "Nose camera",
        r"--json connect 'Nose\ '": "Nose camera",
        "connect '\"Nose c'": "Nose camera",
        "connect --wake N": "Nose camera",
        "disconnect 1 ''": "",
        "networks --interface ''": "wlan0|wlan1|wlan2",
        "simulate unplug wlan1": "wlan1",
        "simulate fault --camera N": "Nose camera",
        "simulate fault dead": "dead-firmware|dead-link|dead-service",
    }
    found = await in_bash(completions, printing, *expected)
    assert dict(zip(expected, found, strict=True)) == expected
    assert not (completions / "hit").exists()


async def test_each_command_to_a_device_completes_devices(completions: Path, printing: Path) -> None:
    commands = (*COMMAND_OF, "record", "stop", "status", "history", "set", "remove", "bluetooth check")
    found = await in_bash(completions, printing, *(f"{command} N" for command in commands))
    assert dict(zip(commands, found, strict=True)) == dict.fromkeys(commands, "Nose camera")


async def test_bash_completes_words_of_the_running_service(hub: Hub, completions: Path) -> None:
    await hub.create(1, name=HOSTILE)
    lines = ("connect ''", "networks --interface wlan1", "add --codename insta360-x3")
    found = await in_bash(completions, REAL, *lines, bus=hub.address)
    assert found == [HOSTILE, "wlan1", "insta360-x3"]


async def test_bash_takes_a_name_for_no_pattern_of_files(completions: Path, printing: Path) -> None:
    """There is a file that fits."""
    assert await in_bash(completions, printing, "connect '*'") == ["*l.bash"]


async def typed(terminal: Terminal, set_up: str, lines: Mapping[str, str]) -> None:
    """Type lines at a shell that was set up, each until it shows some words."""
    terminal.type(f"{set_up}; echo re''ady\n")
    await terminal.until("ready")
    for line, words in lines.items():
        terminal.seen = ""
        terminal.type(f"{KILL_LINE}wifimgrctl {line}\t")
        await terminal.until(words)


async def test_bash_quotes_a_name_with_a_blank(completions: Path, printing: Path) -> None:
    line = ("/bin/bash", "--norc", "--noprofile", "-i")
    async with on_terminal(NOWHERE, *line[1:], program=line[0], PATH=path(printing)) as terminal:
        set_up = f"PS1=; source {completions}/wifimgrctl.bash"
        await typed(terminal, set_up, {"connect No": "Nose\\ camera"})


async def in_zsh(completions: Path, programs: Path, lines: Mapping[str, str], bus: str = NOWHERE) -> None:
    """Type lines at a zsh, each until it shows some words."""
    zsh = shutil.which("zsh")
    assert zsh, "tools/set-up installs it"
    async with on_terminal(bus, "-f", "-i", program=zsh, PATH=path(programs)) as terminal:
        set_up = f"PS1=; fpath=({completions} $fpath); autoload -Uz compinit; compinit -u -D"
        await typed(terminal, set_up, lines)


async def test_zsh_completes(completions: Path, printing: Path) -> None:
    expected = {
        "disc": "disconnect",
        "connect No": "Nose\\ camera",
        "connect 1 No": "Nose\\ camera",
        "--json status No": "Nose\\ camera",
        "set 1 --auto-wake y": "yes",
        "restore --re": "--replace",
        "simulate unplug ": "wlan",
        "add --codename ins": "insta360-x3",
        "tiles ch": "check",
        "help disc": "disconnect",
    }
    await in_zsh(completions, printing, expected)


async def test_zsh_completes_words_of_the_running_service(hub: Hub, completions: Path) -> None:
    await hub.create(1)
    await in_zsh(completions, REAL, {"connect SIM": "SIM-CAM-1"}, hub.address)
