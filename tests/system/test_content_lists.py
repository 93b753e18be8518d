"""The list of each package's contents beside it: what the package has is in it, and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.system.conftest import CHECKOUT
from wifimgrd import __version__

NAMES: Final = tuple(
    f"wifimgrd{name}" for name in ("", "-camera", "-http", "-mavlink", "-mqtt", "-simulator")
)
FRONTEND: Final = CHECKOUT / "frontend"
Component = dict[str, Any]


def read(packages: Path, name: str) -> dict[str, Any]:
    listed: dict[str, Any] = json.loads((packages / f"{name}_{__version__}_all.cdx.json").read_bytes())
    return listed


def field(deb: Path, name: str) -> str:
    """A field of a package."""
    said = subprocess.run(["dpkg-deb", "--field", deb, name], check=True, stdout=subprocess.PIPE, text=True)
    return " ".join(said.stdout.split())


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_each_package_has_one(packages: Path) -> None:
    assert {file.name for file in packages.glob("*.deb")} == {f"{one}_{__version__}_all.deb" for one in NAMES}
    assert {file.stem for file in packages.glob("*.cdx.json")} == {
        f"{one}_{__version__}_all.cdx" for one in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_it_has_what_the_package_has_and_nothing_else(packages: Path, name: str, tmp_path: Path) -> None:
    deb = packages / f"{name}_{__version__}_all.deb"
    listed = read(packages, name)
    text = (packages / f"{name}_{__version__}_all.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None

    package = listed["metadata"]["component"]
    assert (package["name"], package["version"]) == (field(deb, "Package"), field(deb, "Version"))
    assert package["hashes"] == [{"alg": "SHA-256", "content": sha256(deb)}]
    supplier = package["supplier"]
    assert f"{supplier['name']} <{supplier['contact'][0]['email']}>" == field(deb, "Maintainer")
    assert supplier["url"] == [field(deb, "Homepage")]

    subprocess.run(["dpkg-deb", "--extract", deb, tmp_path], check=True)
    installed = [file for file in tmp_path.rglob("*") if file.is_file() and not file.is_symlink()]
    files = [one for one in listed["components"] if one["type"] == "file"]
    assert sorted((one["name"], one["hashes"][0]["content"]) for one in files) == sorted(
        (f"/{file.relative_to(tmp_path)}", sha256(file)) for file in installed
    )

    relations = {
        (kind, relation.strip())
        for kind in ("Pre-Depends", "Depends", "Recommends", "Suggests")
        for relation in field(deb, kind).split(",")
        if relation
    }
    debian = [one for one in listed["components"] if one.get("bom-ref", "").startswith("deb:")]
    said = [(kept["name"], kept["value"], one["name"]) for one in debian for kept in one["properties"]]
    assert {(kind.removeprefix("debian:"), relation) for kind, relation, _ in said} == relations
    for _, relation, other in said:
        assert other in {re.split(r"[ :(]", part.strip())[0] for part in relation.split("|")}
    for relation in {relation for kind, relation in relations if kind == "Depends"}:
        for part in relation.split("|"):
            [found] = [one for one in debian if one["name"] == re.split(r"[ :(]", part.strip())[0]]
            assert found["scope"] == "required"

    npm = [one for one in listed["components"] if one.get("bom-ref", "").startswith("npm:")]
    assert len(files) + len(debian) + len(npm) == len(listed["components"])
    assert [bool(npm), name] in ([True, "wifimgrd"], [False, name])
    needs = {one["ref"]: one.get("dependsOn", []) for one in listed["dependencies"]}
    assert sorted(needs[package["bom-ref"]]) == sorted(one["bom-ref"] for one in (*debian, *npm))


def test_the_npm_packages_are_those_that_the_page_is_made_of(packages: Path) -> None:
    metafile = json.loads((CHECKOUT / "wifimgrd/http/page/built/.metafile.json").read_bytes())
    bundled = {
        match[1]
        for output, made in metafile["outputs"].items()
        if "/gallery-" not in output  # is not installed
        for path, part in made["inputs"].items()
        if part["bytesInOutput"] and (match := re.match(r"node_modules/((?:@[^/]+/)?[^/]+)/", path))
    }
    listed = {
        f"{one['group']}/{one['name']}" if "group" in one else one["name"]: one
        for one in read(packages, "wifimgrd")["components"]
        if one.get("bom-ref", "").startswith("npm:")
    }
    assert listed.keys() == bundled
    assert {"preact", "mqtt", "leaflet"} <= bundled
    for name, component in listed.items():
        installed = json.loads((FRONTEND / "node_modules" / name / "package.json").read_bytes())
        assert component["version"] == installed["version"]
        assert component["licenses"] == [{"expression": installed["license"]}]
        assert component["purl"] == f"pkg:npm/{name.replace('@', '%40')}@{installed['version']}"
    notices = set()
    for file in (CHECKOUT / "wifimgrd/http/page/built/assets").glob("notices-*.txt"):
        notices |= set(re.findall(r"(?:^|-{80}\n\n)(\S+)\n\n", file.read_text()))
    nested = [inner["purl"] for one in listed.values() for inner in one.get("components", ())]
    named = {*(one["purl"].rpartition("@")[0] for one in listed.values()), *nested}
    assert named == {f"pkg:npm/{name.replace('@', '%40')}" for name in notices - {"wifimgrd"}}


def test_the_same_package_has_the_same_list(packages: Path, tmp_path: Path) -> None:
    [deb] = packages.glob("wifimgrd_*.deb")
    kept = packages / f"wifimgrd_{__version__}_all.cdx.json"
    (tmp_path / deb.name).symlink_to(deb)
    changelog = CHECKOUT / "packaging" / "debian" / "changelog"
    time = ["dpkg-parsechangelog", f"-l{changelog}", "-STimestamp"]
    epoch = subprocess.run(time, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    make = CHECKOUT / "packaging" / "make_content_lists"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    subprocess.run([make, tmp_path / deb.name], check=True, env=environment)
    assert (tmp_path / kept.name).read_bytes() == kept.read_bytes()
    subprocess.run([make, tmp_path / deb.name], check=True, env={**environment, "SOURCE_DATE_EPOCH": "0"})
    other = json.loads((tmp_path / kept.name).read_bytes())
    assert other["serialNumber"] != json.loads(kept.read_bytes())["serialNumber"]
