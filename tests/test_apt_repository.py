"""packaging/build_repository: what it publishes of small packages; tests/system installs from it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from tests.signing_keys import with_secret_keys

pytestmark = pytest.mark.slow

BUILD = Path(__file__).parents[1] / "packaging" / "build_repository"
KEY = "packages of a test"
INDEX = Path("dists/bookworm/main/binary-arm64")
Publish = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def gnupg(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a gpg that has two secret keys."""
    return with_secret_keys(tmp_path_factory.mktemp("gnupg"), KEY, "somebody else")


@pytest.fixture
def publish(tmp_path: Path, gnupg: dict[str, str]) -> Publish:
    """Publish the packages in `packages`."""

    def run(key: str = KEY, *more: str, folder: str = "repository") -> subprocess.CompletedProcess[str]:
        command: list[str | Path] = [BUILD, key, tmp_path / "packages", tmp_path / folder, *more]
        return subprocess.run(command, check=False, capture_output=True, text=True, env=gnupg)

    return run


def package(folder: Path, version: str, description: str = "a hub") -> None:
    tree = folder / "tree"
    (tree / "DEBIAN").mkdir(parents=True, exist_ok=True)
    for one in (tree, tree / "DEBIAN"):
        one.chmod(0o755)  # whatever the umask is: dpkg-deb refuses others
    (tree / "DEBIAN" / "control").write_text(
        f"Package: wifimgrd\nVersion: {version}\nArchitecture: all\nMaintainer: a test\n"
        f"Description: {description}\n"
    )
    (folder / "packages").mkdir(exist_ok=True)
    built = folder / "packages" / f"wifimgrd_{version}_all.deb"
    build: list[str | Path] = ["dpkg-deb", "--root-owner-group", "--build", tree, built]
    subprocess.run(
        build, check=True, capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1764000000"}
    )


def published(folder: Path) -> dict[Path, bytes]:
    return {one.relative_to(folder): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_the_same_packages_make_the_same_files_but_for_the_signatures(
    tmp_path: Path, publish: Publish
) -> None:
    package(tmp_path, "1.0")
    assert publish().returncode == 0
    assert publish(folder="again").returncode == 0
    first, again = published(tmp_path / "repository"), published(tmp_path / "again")
    assert first.keys() == again.keys()
    signed = [path for path in first if path.name == "InRelease"]
    assert len(signed) == 2
    for path in signed:
        texts = [one[path].split(b"-----BEGIN PGP SIGNATURE")[0] for one in (first, again)]
        assert texts[0] == texts[1]
    assert [path for path in first if first[path] != again[path] and path not in signed] == []


def test_it_never_expires(tmp_path: Path, publish: Publish) -> None:
    package(tmp_path, "1.0")
    publish()
    release = (tmp_path / "repository" / "dists" / "trixie" / "InRelease").read_text()
    assert "Valid-Until" not in release
    assert "Acquire-By-Hash: yes" in release
    assert "\nCheck-Date: no\n" in (tmp_path / "repository" / "trixie.sources").read_text()


def test_for_hubs_that_are_online_it_expires_some_days_from_now(tmp_path: Path, publish: Publish) -> None:
    package(tmp_path, "1.0")
    before = datetime.now(UTC).replace(microsecond=0)
    assert publish(KEY, "https://packages.example", "30").returncode == 0
    after = datetime.now(UTC)
    for suite in ("bookworm", "trixie"):
        release = (tmp_path / "repository" / "dists" / suite / "InRelease").read_text()
        [until] = re.findall(r"^Valid-Until: (.*)$", release, re.MULTILINE)
        assert before <= parsedate_to_datetime(until) - timedelta(days=30) <= after
        # It would switch off the check of that, too: sources.list(5).
        assert "Check-Date" not in (tmp_path / "repository" / f"{suite}.sources").read_text()


@pytest.mark.parametrize("days", ["0", "-1", "soon", "99999", "1 day"])
def test_a_number_of_days_that_is_none_is_refused(tmp_path: Path, publish: Publish, days: str) -> None:
    package(tmp_path, "1.0")
    done = publish(KEY, "https://packages.example", days)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"the repository is valid for 1 to 9999 days, not for {days}" in done.stderr
    assert not (tmp_path / "repository").exists()


def test_other_versions_stay_and_so_does_the_index_that_a_hub_may_have_begun_to_read(
    tmp_path: Path, publish: Publish
) -> None:
    package(tmp_path, "1.0")
    publish()
    repository = tmp_path / "repository"
    by_hash = repository / INDEX / "by-hash" / "SHA256"
    before = {one.name for one in by_hash.iterdir()}
    (tmp_path / "packages" / "wifimgrd_1.0_all.deb").unlink()
    package(tmp_path, "1.1")
    publish()
    index = (repository / INDEX / "Packages").read_text()
    assert [line for line in index.splitlines() if line.startswith("Version")] == [
        "Version: 1.0",
        "Version: 1.1",
    ]
    assert before < {one.name for one in by_hash.iterdir()}
    publish()
    assert before.isdisjoint(one.name for one in by_hash.iterdir())


def test_what_has_changed_without_a_version_of_its_own_is_refused(tmp_path: Path, publish: Publish) -> None:
    package(tmp_path, "1.0")
    publish()
    before = published(tmp_path / "repository")
    package(tmp_path, "1.0", "another hub")
    done = publish()
    assert done.returncode == 1
    assert "another wifimgrd_1.0_all.deb: what has changed needs a version of its own" in done.stderr
    assert published(tmp_path / "repository") == before


def test_the_lists_of_the_contents_are_beside_the_packages_and_signed(
    tmp_path: Path, publish: Publish, gnupg: dict[str, str]
) -> None:
    pool = tmp_path / "repository" / "pool" / "main" / "w" / "wifimgrd"
    for version in ("1.0", "1.1"):
        package(tmp_path, version)
        (tmp_path / "packages" / f"wifimgrd_{version}_all.cdx.json").write_text(version)
        assert publish().returncode == 0
        for old in (tmp_path / "packages").iterdir():
            old.unlink()
    package(tmp_path, "1.2")  # as versions before 0.3.0, it has none
    assert publish().returncode == 0
    lists = sorted(pool.glob("*.cdx.json"))
    assert [one.read_text() for one in lists] == ["1.0", "1.1"]
    for one in lists:
        verify = ["gpg", "--batch", "--verify", f"{one}.asc", str(one)]
        assert subprocess.run(verify, check=False, capture_output=True, env=gnupg).returncode == 0
    assert len(list(pool.iterdir())) == 3 + 2 * 2


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "which key signs it?"),
        ("nobody", "gpg has no secret key for nobody"),
        ("e", "gpg has several secret keys for e"),
    ],
)
def test_without_one_key_nothing_is_published(tmp_path: Path, publish: Publish, key: str, words: str) -> None:
    package(tmp_path, "1.0")
    done = publish(key)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
    assert not (tmp_path / "repository").exists()


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "http://127.0.0.1/a b", "file://", "http://a/\nTrusted: yes"]
)
def test_a_url_that_apt_does_not_take_is_refused(tmp_path: Path, publish: Publish, url: str) -> None:
    package(tmp_path, "1.0")
    done = publish(KEY, url)
    assert done.returncode == 1
    assert "build_repository: " in done.stderr
    assert not (tmp_path / "repository").exists()


def test_what_else_is_in_the_folder_stays(tmp_path: Path, publish: Publish) -> None:
    package(tmp_path, "1.0")
    kept = tmp_path / "repository" / "thesis.tex"
    (kept.parent / "pool" / "main" / "w" / "wifimgrd").mkdir(parents=True)  # as after an interruption
    kept.write_text("all my work")
    for _ in range(2):
        assert publish().returncode == 0
    assert kept.read_text() == "all my work"


def test_another_key_than_its_hubs_trust_is_refused(tmp_path: Path, publish: Publish) -> None:
    package(tmp_path, "1.0")
    assert publish().returncode == 0
    before = published(tmp_path / "repository")
    done = publish("somebody else")
    assert done.returncode == 1
    assert "signed by another key" in done.stderr
    assert published(tmp_path / "repository") == before


def test_a_key_that_expires_is_refused(tmp_path: Path, publish: Publish, gnupg: dict[str, str]) -> None:
    package(tmp_path, "1.0")
    make = ["gpg", "--batch", "--passphrase", "", "--quick-generate-key", "soon", "ed25519", "sign", "2d"]
    subprocess.run(make, check=True, capture_output=True, env=gnupg)
    done = publish("soon")
    assert done.returncode == 1
    assert "soon expires on 20" in done.stderr
    assert not (tmp_path / "repository").exists()


def test_a_damaged_package_is_refused(tmp_path: Path, publish: Publish) -> None:
    package(tmp_path, "1.0")
    [built] = (tmp_path / "packages").iterdir()
    built.write_bytes(built.read_bytes()[:-200])
    done = publish()
    assert done.returncode == 1
    assert "wifimgrd_1.0_all.deb is damaged" in done.stderr


def test_everybody_can_read_it(tmp_path: Path, publish: Publish) -> None:
    package(tmp_path, "1.0")
    [built] = (tmp_path / "packages").iterdir()
    built.chmod(0o600)
    assert publish().returncode == 0
    modes = {one.stat().st_mode & 0o777 for one in (tmp_path / "repository").rglob("*") if one.is_file()}
    assert modes == {0o644}


def test_its_page_and_its_sources_have_its_url(tmp_path: Path, publish: Publish) -> None:
    package(tmp_path, "1.0")
    publish(KEY, "file:///media/stick/")
    repository = tmp_path / "repository"
    assert "URIs: file:///media/stick\n" in (repository / "bookworm.sources").read_text()
    assert " file:///media/stick/$(. /etc/os-release" in (repository / "index.html").read_text()


def test_without_packages_it_says_what_makes_them(tmp_path: Path, publish: Publish) -> None:
    done = publish()
    assert done.returncode == 1
    assert "make deb" in done.stderr
