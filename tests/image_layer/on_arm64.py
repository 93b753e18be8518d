"""The layer applied by bdebstrap, as rpi-image-gen applies it, to a Debian for arm64, which is then booted
on an emulated machine: the hub is ready at the first boot, and connects a camera on real 802.11.

Its name keeps it out of a plain run of the suite: `packaging/rpi-image-gen/try_on_arm64` installs what it
needs, builds the packages and runs it, a quarter of an hour for each kind of network.
"""

from __future__ import annotations

import functools
import http.server
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.image_layer.layer import CHECKOUT, LAYER, Layer, read
from tests.signing_keys import with_secret_keys
from tests.system.emulated_machine import ARM64, Machine, run_in_machine
from tests.system.machine import Layer as Overlay
from wifimgrd import __version__

SUITE: Final = "trixie"
NETWORKS: Final = {"network-manager": "networkmanager", "systemd-net-min": "wpa_supplicant"}
"""rpi-image-gen's layers, and the backend that the hub takes with each."""
BASE: Final = Path(__file__).with_name("base")
LAB: Final = CHECKOUT / "tests" / "lab"
PROGRAM: Final = Path("usr/local/lib/trial/arm64_program.py")
PARTS: Final = "camera mqtt"
CONFIG: Final = '[platform]\nname = "trial"\n'
MEMORY_MB: Final = 1024
"""Of a Raspberry Pi 4 with the least; what is written in the machine takes of it, too."""
BOOT_S: Final = 1200.0
MACHINE: Final = Machine(
    ARM64,
    MEMORY_MB,
    hardware=("-netdev", "user,id=wired,restrict=on", "-device", "virtio-net-pci,netdev=wired"),
)
MODULES: Final = ("drivers/virtio", "drivers/char/hw_random", "net/9p", "fs/9p", "fs/netfs", "fs/overlayfs")
"""Where the modules are that the machine finds its root with."""


@dataclass(frozen=True)
class Trial:
    """An image's root, and what was seen on the machine that it was booted on."""

    network: str
    root: Path
    sources: Path
    seen: dict[str, Any]


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """No line for each request."""


@pytest.fixture(scope="module")
def layer() -> Layer:
    return read(LAYER.read_text())


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file of a signed repository of this checkout's packages, which is served meanwhile."""
    folder = tmp_path_factory.mktemp("repository")
    handler = functools.partial(_Silent, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        environment = with_secret_keys(tmp_path_factory.mktemp("gnupg"), "packages of a trial")
        build = CHECKOUT / "packaging" / "build_repository"
        command: list[str | Path] = [build, "packages of a trial", CHECKOUT / "dist", folder, url]
        subprocess.run(command, check=True, env=environment)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder / f"{SUITE}.sources"
        server.shutdown()


@pytest.fixture(scope="module", params=NETWORKS)
def trial(request: pytest.FixtureRequest, layer: Layer, sources: Path) -> Iterator[Trial]:
    """The layer applied and booted, once for each kind of network."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="wifimgrd-arm64-") as name:
        folder = Path(name)
        began_s = time.monotonic()
        root = made_root(folder, request.param, layer, sources)
        made_s = time.monotonic() - began_s
        seen = booted(folder, root)
        seen["root"] = {"made_s": made_s, "mb": size_mb(root), "trial_s": time.monotonic() - began_s - made_s}
        sys.stderr.write(f"\n{request.param}: {json.dumps(seen, indent=1)}\n")
        yield Trial(request.param, root, sources, seen)


def made_root(folder: Path, network: str, layer: Layer, sources: Path) -> Path:
    """What bdebstrap makes of the stand-ins for rpi-image-gen's own layers, and of ours."""
    (folder / "hub.toml").write_text(CONFIG)
    variables = layer.environment(
        **{"sources": str(sources), "with": PARTS, "config": str(folder / "hub.toml")}
    )
    command: list[str | Path] = ["bdebstrap", "--quiet", "--suite", SUITE, "--name", "hub"]
    for config in (BASE / "debian.yaml", BASE / f"{network}.yaml", LAYER):
        command += ["--config", config]
    for variable in variables.items():
        command += ["--env", "=".join(variable)]
    command += ["--output", folder / "made", "--target", folder / "root"]
    # The machine is started with a file system of its own in memory.
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, "INITRD": "No"})
    return folder / "root"


def booted(folder: Path, root: Path) -> dict[str, Any]:
    """Boot the image for the first time; the image stays as it is."""
    parts, out, overlay = kernel_of(root, folder), folder / "out", Overlay()
    out.mkdir()
    mounted = overlay.mount([root])
    try:
        program = mounted / PROGRAM
        shutil.copytree(LAB / "guest", program.parent / "tests" / "lab" / "guest")
        shutil.copy(CHECKOUT / "tests" / "namespaces.py", program.parent / "tests")
        shutil.copy(Path(__file__).with_name(PROGRAM.name), program)
        rules = LAB / "image" / "guest_usb_disguise.rules"
        shutil.copy(rules, mounted / "etc" / "udev" / "rules.d" / "70-lab-usb.rules")
        said = run_in_machine(MACHINE, mounted, parts, out, f"/{PROGRAM}", BOOT_S)
        results = out / "results.json"
        assert results.exists(), said
        seen: dict[str, Any] = json.loads(results.read_text())
        assert "camera" in seen, said
        return seen
    finally:
        overlay.unmount()
        overlay.close()


def kernel_of(root: Path, folder: Path) -> Path:
    """The image's own kernel, the modules that find its root, and its busybox."""
    parts = folder / "parts"
    (parts / "modules").mkdir(parents=True)
    [kernel] = (root / "boot").glob("vmlinuz-*")
    shutil.copy(kernel, parts / "vmlinuz")
    shutil.copy(root / "usr" / "bin" / "busybox", parts / "busybox")
    [modules] = (root / "usr" / "lib" / "modules").glob("*/kernel")
    for part in MODULES:
        for file in (modules / part).rglob("*.ko.xz"):
            (parts / "modules" / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
    return parts


def size_mb(folder: Path) -> int:
    said = subprocess.run(["du", "-sxm", folder], check=True, capture_output=True, text=True).stdout
    return int(said.split()[0])


def test_the_image_has_the_packages_and_nothing_of_another_processor(trial: Trial) -> None:
    show = ["dpkg-query", f"--admindir={trial.root}/var/lib/dpkg", "--show"]
    listed = subprocess.run(
        [*show, "--showformat", "${Package} ${Version} ${Architecture}\n"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    installed = {name: (version, kind) for name, version, kind in map(str.split, listed.splitlines())}
    ours = {name for name in installed if name.startswith("wifimgrd")}
    assert ours == {"wifimgrd", "wifimgrd-http", *(f"wifimgrd-{part}" for part in PARTS.split())}
    assert {installed[name] for name in ours} == {(__version__, "all")}
    assert {kind for _, kind in installed.values()} == {"all", "arm64"}


def test_hubs_keep_the_signed_repository_for_their_upgrades(trial: Trial) -> None:
    kept = trial.root / "etc/apt/sources.list.d/wifimgrd.sources"
    assert kept.read_text() == trial.sources.read_text()
    assert "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----" in kept.read_text()


def test_the_image_has_no_state_that_hubs_would_share(trial: Trial) -> None:
    for folder in ("wifimgrd", "wifimgrd-mavlink"):
        assert list((trial.root / "var/lib" / folder).glob("*")) == []


def test_at_the_first_boot_everything_runs_and_the_hub_is_ready(trial: Trial) -> None:
    boot = trial.seen["boot"]
    assert boot["architecture"] == "arm64"
    assert boot["kernel"].endswith("aarch64")
    assert (boot["state"], boot["failed"]) == ("running", "")
    assert set(boot["units"].values()) == {"active"}, boot["units"]
    assert boot["health"]["daemon"] == "available"
    assert boot["health"]["backend"] == NETWORKS[trial.network]


def test_the_administrator_s_configuration_is_in_force(trial: Trial) -> None:
    assert trial.seen["platform_answer"] == "[]"


def test_a_camera_is_connected_and_reached_through_the_hub(trial: Trial) -> None:
    assert trial.seen["camera"]["page_of_camera"] == "A"


def test_a_configuration_that_the_hub_would_refuse_ends_the_build(
    trial: Trial, layer: Layer, tmp_path: Path
) -> None:
    wrong = tmp_path / "hub.toml"
    wrong.write_text("[link]\ngrace_s = 900\n")
    hook = layer.mmdebstrap["customize-hooks"][-1]
    overlay = Overlay()
    mounted = overlay.mount([trial.root])
    try:
        done = subprocess.run(
            ["sh", "-c", hook, "exec", str(mounted)],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, **layer.environment(config=str(wrong))},
        )
    finally:
        overlay.unmount()
        overlay.close()
    assert done.returncode != 0
    assert "link.grace_s: expected 0 to 600 seconds, not 900" in done.stderr
