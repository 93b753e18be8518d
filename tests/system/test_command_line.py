"""The command line as a person at a shell meets it: completion, manual pages."""

from __future__ import annotations

from tests.system.hub import Hub
from tests.system.machine import Machine

BASH = """
source /usr/share/bash-completion/bash_completion
source /usr/share/bash-completion/completions/wifimgrctl
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _wifimgrctl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(machine: Machine, words: str) -> list[str]:
    done = machine.run("bash", "--norc", "-c", BASH.format(words=words))
    return done.stdout.split("\n")[:-1]


def test_bash_completes_ids_and_names_of_the_running_service(hub: Hub) -> None:
    machine = hub.machine
    hub.add(1)
    machine.run("busctl", "call", "org.wifimgrd1", "/org/wifimgrd1/devices/1", "org.wifimgrd1.Device",
                "Update", "a{sv}", "1", "name", "s", "Nose camera")  # fmt: skip
    assert completed(machine, "wifimgrctl dis") == ["disconnect"]
    assert completed(machine, "wifimgrctl connect ''") == ["1", "Nose\\ camera"]
    assert completed(machine, "wifimgrctl --json connect 'Nose\\ '") == ["Nose\\ camera"]
    assert completed(machine, "wifimgrctl networks --interface ''") == ["wlan0", "wlan1", "wlan2"]
    assert completed(machine, "wifimgrctl restore --re") == ["--replace"]


def test_zsh_completes_ids_and_names_of_the_running_service(hub: Hub) -> None:
    hub.add(1)
    script = (
        "autoload -Uz compinit; compinit -u -d /tmp/zcompdump; [[ $_comps[wifimgrctl] == _wifimgrctl ]]; "
        "autoload -Uz +X _wifimgrctl; zmodload zsh/zpty; zpty shell zsh -f -i; "
        "zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u -d /tmp/zcompdump; setopt no_beep'; "
        "zpty -w -n shell $'wifimgrctl connect SIM\\t'; zpty -r shell said '*SIM-CAM-1*' && print found"
    )
    assert "found" in hub.machine.run("zsh", "-fc", script).stdout


def test_the_manual_pages_are_there(machine: Machine) -> None:
    pages = machine.sh(
        "dpkg -L wifimgrd wifimgrd-http | grep /man/ | grep gz | xargs -n1 basename | sort"
    ).split()
    assert pages == [
        *("org.wifimgrd1.5.gz", "wifimgrctl.1.gz", "wifimgrd-http.8.gz", "wifimgrd-net.8.gz"),
        *("wifimgrd.8.gz", "wifimgrd.catalog.5.gz", "wifimgrd.toml.5.gz"),
    ]
