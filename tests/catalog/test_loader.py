"""The models that are shipped, and files that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from wifimgrd import catalog

GOOD = '[[model]]\ncodename = "a-1"\ndevice_name = "A 1"\n'


def test_the_shipped_models_have_names_for_people_and_for_programs() -> None:
    models = catalog.models()
    assert catalog.Model("insta360-x4", "Insta360 X4") in models
    assert "generic-wifi-camera" in catalog.codenames()
    assert len(catalog.codenames()) == len(models)


def test_models_keep_the_order_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text(GOOD + '[[model]]\ncodename = "a"\ndevice_name = "A"\n')
    assert [model.codename for model in catalog.load(file)] == ["a-1", "a"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[[model]", "the file"),
        ("model = 1", "model"),
        ("model = [1]", "model 1"),
        (GOOD + "[other]", "other"),
        (GOOD + "colour = 1", "model 1.colour"),
        ('[[model]]\ncodename = "a"', "model 1.device_name"),
        ('[[model]]\ndevice_name = "A"', "model 1.codename"),
        ('[[model]]\ncodename = 1\ndevice_name = "A"', "model 1.codename"),
        ('[[model]]\ncodename = "a"\ndevice_name = " "', "model 1.device_name"),
        ('[[model]]\ncodename = "A b"\ndevice_name = "A"', "model 1.codename"),
        (GOOD + GOOD, "model 2.codename"),
    ],
)
def test_a_file_at_fault_is_refused_with_its_key(tmp_path: Path, text: str, key: str) -> None:
    file = tmp_path / "models.toml"
    file.write_text(text)
    with pytest.raises(catalog.CatalogError) as refused:
        catalog.load(file)
    assert str(refused.value).startswith(f"{file}: {key}: ")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(catalog.CatalogError, match="cannot be read"):
        catalog.load(tmp_path / "models.toml")
