"""The layer for rpi-image-gen has the form that rpi-image-gen wants. What it makes is seen by hand before
each release, by `packaging/rpi-image-gen/try_on_arm64`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.image_layer.layer import CHECKOUT, FOLDER, LAYER, Layer, read

LAYER_FIELDS = {"Name", "Category", "Desc", "Version", "Requires", "RequiresProvider", "Conflicts"}
"""Those of rpi-image-gen that this layer may use: all its versions of 2026 have them."""
ATTRIBUTES = {"Desc", "Required", "Valid", "Set"}
RULES = re.compile(r"string(-or-empty)?|bool|regex:.+")
SECTIONS = {"setup-hooks", "packages", "customize-hooks"}
"""What bdebstrap 0.5 knows as well as 0.7."""
OURS = re.compile(r"^Package: (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def layer() -> Layer:
    return read(LAYER.read_text())


def packages() -> set[str]:
    return set(OURS.findall((CHECKOUT / "packaging" / "debian" / "control").read_text()))


def test_its_fields_are_those_of_the_format(layer: Layer) -> None:
    assert layer.fields["X-Env-Layer-Name"] == LAYER.stem
    assert re.fullmatch(r"\d+\.\d+\.\d+", layer.fields["X-Env-Layer-Version"])
    others = {name for name in layer.fields if not name.startswith(("X-Env-Layer-", "X-Env-Var-"))}
    assert others == {"X-Env-VarPrefix"}
    used = {name.removeprefix("X-Env-Layer-") for name in layer.fields if name.startswith("X-Env-Layer-")}
    assert used <= LAYER_FIELDS
    for name in ("Requires", "RequiresProvider", "Conflicts"):
        for token in filter(None, layer.fields.get(f"X-Env-Layer-{name}", "").split(",")):
            assert re.fullmatch(r"[A-Za-z0-9_-]+", token), f"{name}: {token}"


def test_each_variable_has_its_attributes_and_a_default_that_its_own_rule_accepts(layer: Layer) -> None:
    assert layer.variables
    for name, variable in layer.variables.items():
        assert variable.attributes.keys() == ATTRIBUTES, name
        rule = variable.attributes["Valid"]
        assert RULES.fullmatch(rule), name
        if rule.startswith("regex:"):
            assert re.fullmatch(rule.removeprefix("regex:"), variable.default), name
        elif rule == "string":
            assert variable.default, name
    declared = {name for name in layer.fields if name.startswith("X-Env-Var-")}
    expected = {f"X-Env-Var-{name}" for name in layer.variables}
    expected |= {f"{name}-{attribute}" for name in expected for attribute in ATTRIBUTES}
    assert declared == expected, "an attribute of what is not declared"


def test_the_parts_that_may_be_chosen_are_packages_of_ours(layer: Layer) -> None:
    rule = layer.variables["with"].attributes["Valid"].removeprefix("regex:")
    [parts, _] = re.findall(r"\(([a-z|]+)\)", rule)
    chosen = {f"wifimgrd-{part}" for part in parts.split("|")}
    always = {"wifimgrd", "wifimgrd-http"}
    assert chosen | always | {"wifimgrd-simulator"} == packages(), "a hub has no simulator"
    assert always <= set(layer.mmdebstrap["packages"])
    for value in ("", "mqtt", "camera mqtt mavlink"):
        assert re.fullmatch(rule, value)
    for value in ("simulator", "camera,mqtt", "camera; reboot", "camera "):
        assert not re.fullmatch(rule, value)


def test_what_the_package_recommends_is_named_since_images_leave_it_out(layer: Layer) -> None:
    control = (CHECKOUT / "packaging" / "debian" / "control").read_text()
    [recommended] = re.findall(r"^Recommends: (.*)$", control, re.MULTILINE)
    assert set(recommended.split(", ")) <= set(layer.mmdebstrap["packages"])


def test_its_hooks_use_the_variables_that_it_declares_and_are_scripts(layer: Layer) -> None:
    assert layer.mmdebstrap.keys() == SECTIONS
    hooks = [*layer.mmdebstrap["setup-hooks"], *layer.mmdebstrap["customize-hooks"]]
    used = {name for hook in hooks for name in re.findall(r"IGconf_\w+", hook)}
    assert used == layer.environment().keys()
    for hook in hooks:
        assert hook.startswith("set -eu\n"), "a hook goes on after a failure, else"
        subprocess.run(["sh", "-n", "-c", hook], check=True)


def run_hook(hook: str, root: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """As mmdebstrap runs it: the root is its first argument."""
    return subprocess.run(
        ["sh", "-c", hook, "exec", str(root)],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]} | environment,
    )


def test_the_repository_s_own_file_becomes_the_hub_s(layer: Layer, tmp_path: Path) -> None:
    [hook] = layer.mmdebstrap["setup-hooks"]
    given = tmp_path / "trixie.sources"
    given.write_text("Types: deb\n")
    done = run_hook(hook, tmp_path / "root", layer.environment(sources=str(given)))
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "root" / "etc/apt/sources.list.d/wifimgrd.sources"
    assert kept.read_text() == "Types: deb\n"
    assert kept.stat().st_mode & 0o777 == 0o644, "apt's own user reads it"


def test_a_build_ends_where_the_repository_s_file_is_missing(layer: Layer, tmp_path: Path) -> None:
    [hook] = layer.mmdebstrap["setup-hooks"]
    done = run_hook(hook, tmp_path / "root", layer.environment(sources=str(tmp_path / "none.sources")))
    assert done.returncode != 0
    assert "none.sources" in done.stderr


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ("", "one METABEGIN and one METAEND are needed"),
        ("# METABEGIN\n#  continued\n# METAEND\n", "nothing is continued by"),
        ("# METABEGIN\n# Layer-Name: a\n# METAEND\n", "not a field"),
        ("# METABEGIN\n# X-Env-Layer-Name: a\n# X-Env-Layer-Name: b\n# METAEND\n", "not a field"),
    ],
)
def test_what_rpi_image_gen_would_misread_is_refused_here(fields: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read(f"{fields}---\nmmdebstrap: {{}}\n")


def test_the_example_names_the_layer_and_sets_variables_that_it_declares(layer: Layer) -> None:
    example = yaml.safe_load((FOLDER / "config" / "hub.yaml").read_text())
    assert layer.fields["X-Env-Layer-Name"] in example["layer"]
    assert not set(layer.fields["X-Env-Layer-Conflicts"].split(",")) & set(example["layer"])
    assert example["wifimgrd"].keys() <= layer.variables.keys()
