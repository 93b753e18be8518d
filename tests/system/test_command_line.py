"""The command line as a person at a shell meets it: completion, manual pages."""

from __future__ import annotations

from tests.system.hub import Hub
from tests.system.machine import Machine

BASH = """
source /usr/share/bash-completion/bash_completion
source /usr/share/bash-completion/completions/wifimgrctl
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _shtab_wifimgrctl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(machine: Machine, words: str) -> list[str]:
    done = machine.run("bash", "--norc", "-c", BASH.format(words=words))
    return done.stdout.split("\n")[:-1]


def test_bash_completes_names_of_the_running_service(hub: Hub) -> None:
    machine = hub.machine
    hub.add(1)
    machine.run("busctl", "call", "org.wifimgrd1", "/org/wifimgrd1/devices/1", "org.wifimgrd1.Device",
                "Update", "a{sv}", "1", "name", "s", "Nose camera")  # fmt: skip
    assert completed(machine, "wifimgrctl dis") == ["disconnect"]
    assert completed(machine, "wifimgrctl connect ''") == ["Nose camera"]
    assert completed(machine, "wifimgrctl --json connect 'Nose\\ '") == ["Nose camera"]
    assert completed(machine, "wifimgrctl networks --interface ''") == ["wlan0", "wlan1", "wlan2"]
    assert completed(machine, "wifimgrctl restore --re") == ["--replace"]


def test_zsh_completes_names_of_the_running_service(hub: Hub) -> None:
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


def test_setup_moves_the_page_and_makes_a_token_while_links_stay_up(hub: Hub) -> None:
    machine, device = hub.machine, hub.add(1)
    line = ("wifimgrctl", "setup", "--country", "DE", "--listen", "127.0.0.1:8099", "--new-token", "--yes")
    done = machine.run(*line)
    assert "/etc/wifimgrd/wifimgrd.toml.d/50-setup.toml is written.\n" in done.stdout
    assert "systemctl restart wifimgrd.service\n" in done.stderr
    assert machine.sh("stat -c %a:%U:%G /etc/wifimgrd/token").strip() == "640:root:wifimgrd-http"
    page = "http://127.0.0.1:8099/plugin-views/platform_plugin_device_manager/devices/"
    asked = "curl --silent --output /dev/null --write-out '%{http_code}'"
    assert machine.sh(f"{asked} {page}") == "401"
    with_token = '--header "Authorization: Bearer $(cat /etc/wifimgrd/token)"'
    assert machine.sh(f"{asked} {with_token} {page}") == "200"
    assert machine.sh("ss --listening --tcp --numeric --no-header").count(":8080") == 0
    hub.until(device, "connected")
    assert "lost" not in hub.journal()
    assert machine.run(*line[:6]).stdout == "Everything is set already.\n"
