"""What documents print runs on a Debian on which only that was done: README's first line and `make run`,
which installs the rest.

Its name keeps it out of a plain run of the suite, since it installs packages: `tools/test-all` names it.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bare_roots import AUTHORITIES, PROXIES, made_once
from tests.docs.code_blocks import CHECKOUT, blocks_at
from tests.docs.private_host import PrivateHost
from tests.docs.test_commands import BESIDE_MAKE_RUN, run_beside_make_run
from tests.namespaces import namespaces

SUITES = ("bookworm", "trixie")
ENVIRONMENT = (
    "-i",
    "HOME=/root",
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    "DEBIAN_FRONTEND=noninteractive",
    f"PIP_CERT=/run{AUTHORITIES}",
    f"NODE_EXTRA_CA_CERTS=/run{AUTHORITIES}",
    *PROXIES,
)
NAMED_IN_TEXT = {"docs/http.md": "jq", "docs/mqtt.md": "mosquitto mosquitto-clients"}
"""What documents want installed."""
INSTALL_S, START_S = 1200, 900
MOUNTS = """
root=$1
mount --make-rprivate /
mount -t overlay -o "lowerdir=$2,upperdir=$root/changes,workdir=$root/work" overlay "$root/all"
cd "$root/all"
mount --rbind /dev dev
mount --rbind /proc proc
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs tmpfs run
mkdir -p "run${3%/*}"
cp "$3" "run$3"
"""
"""A root from what was unpacked and its changes so far, /tmp on tmpfs as on Debian 13."""
PIVOT = """
ip link set lo up
mkdir -p run/host
pivot_root . run/host
umount -l /run/host
"""


def unpacked(suite: str) -> Path:
    """A root of the smallest Debian; made once."""

    def make(folder: Path) -> None:
        folder.mkdir()
        made = subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", "--format=tar", suite, "-"],
            stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        subprocess.run(["tar", "x", "-C", folder], input=made.stdout, check=True)

    return made_once(f"bare-{suite}", make)


@pytest.fixture(params=SUITES)
def bare(request: pytest.FixtureRequest) -> Iterator[tuple[Path, Path]]:
    """A Debian with a clone in it, and what it is based on."""
    base = unpacked(request.param)
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="bare-", ignore_cleanup_errors=True) as folder:
        for name in ("all", "work", "changes"):
            Path(folder, name).mkdir()
        clone = Path(folder, "changes", CHECKOUT.relative_to("/"))
        clone.mkdir(parents=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=CHECKOUT, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        packed = subprocess.run(
            ["tar", "c", "--null", "--ignore-failed-read", "-T", "-"],
            cwd=CHECKOUT, input=listed.stdout, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        subprocess.run(["tar", "x", "--no-same-owner", "-C", clone], input=packed.stdout, check=True)
        yield Path(folder), base


def install(bare: tuple[Path, Path], commands: str) -> None:
    """Run commands in it, with the host's network."""
    enter = f'{MOUNTS}\ncp /etc/resolv.conf etc/resolv.conf\nexec chroot . env "${{@:5}}" bash -euc "$4"'
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-euc", enter, "bash", *bare, AUTHORITIES, commands, *ENVIRONMENT],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=INSTALL_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]


def test_documents_run_where_make_run_alone_was_run(bare: tuple[Path, Path], tmp_path: Path) -> None:
    [first] = blocks_at("fresh-machine")["README.md"]
    start = f"""
        cd '{CHECKOUT}'
        mkfifo /root/ready
        make run PORT=0 BACKEND=simulated >/root/ready & run=$!
        timeout {START_S} grep -q ^ready /root/ready
        kill $run
        apt-get install --yes --no-install-recommends {" ".join(NAMED_IN_TEXT.values())}
    """
    install(bare, first.text + start)
    for document in BESIDE_MAKE_RUN:
        with namespaces(MOUNTS + PIVOT, *map(str, bare), str(AUTHORITIES)) as pid:
            run_beside_make_run(PrivateHost(pid, ENVIRONMENT), document, tmp_path / Path(document).stem)
