"""Whatever is stored comes back the same, and a store behaves as a dictionary does."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from tests.daemon.store import samples
from wifimgrd.daemon.store import SqliteStore
from wifimgrd.domain.device import Device, DeviceId, Passphrase
from wifimgrd.domain.errors import DeviceNotFound

T = TypeVar("T")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draft=samples.devices, passphrase=samples.passphrases, notes=st.dictionaries(st.text(), st.text()))
def test_round_trip(tmp_path: Path, draft: Device, passphrase: Passphrase, notes: dict[str, str]) -> None:
    async def trip() -> None:
        store = await SqliteStore.open(tmp_path)
        device = await store.add(draft, passphrase)
        assert device == replace(draft, id=device.id)
        for key, value in notes.items():
            store.note(key, value)
        await store.close()

        again = await SqliteStore.open(tmp_path)
        assert (await again.load())[device.id] == device
        assert await again.passphrase(device.id) == passphrase
        assert {key: again.recall(key) for key in notes} == notes
        await again.close()

    asyncio.run(trip())


class StoreAsDictionary(RuleBasedStateMachine):
    """Every operation on a store and on dictionaries; closing and opening again changes nothing."""

    ids = Bundle("ids")
    keys = st.sampled_from(["a", "b", "c"])

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.store = self.wait(SqliteStore.open(Path(self.directory.name)))
        self.devices: dict[DeviceId, Device] = {}
        self.secrets: dict[DeviceId, Passphrase] = {}
        self.created: dict[str, DeviceId] = {}
        self.notes: dict[str, str] = {}
        self.last_id = 0

    def wait(self, work: Coroutine[object, object, T]) -> T:
        return self.runner.run(work)

    def put(self, device: Device) -> None:
        if device.id in self.devices:
            self.devices[device.id] = device

    @rule(target=ids, draft=samples.devices, passphrase=samples.passphrases, key=st.none() | keys)
    def add(self, draft: Device, passphrase: Passphrase, key: str | None) -> object:
        if key is not None and key in self.created:
            first = self.created[key]
            if first in self.devices:
                assert self.wait(self.store.add(draft, passphrase, key)) == self.devices[first]
            else:
                with pytest.raises(DeviceNotFound):
                    self.wait(self.store.add(draft, passphrase, key))
            return multiple()
        device = self.wait(self.store.add(draft, passphrase, key))
        assert device.id > self.last_id
        assert device == replace(draft, id=device.id)
        self.last_id = device.id
        self.devices[device.id], self.secrets[device.id] = device, passphrase
        if key is not None:
            self.created[key] = device.id
        return device.id

    @rule(ident=ids, draft=samples.devices, passphrase=st.none() | samples.passphrases)
    def update(self, ident: DeviceId, draft: Device, passphrase: Passphrase | None) -> None:
        device = replace(draft, id=ident)
        if ident not in self.devices:
            with pytest.raises(DeviceNotFound):
                self.wait(self.store.update(device, device, passphrase))
            return
        self.wait(self.store.update(self.devices[ident], device, passphrase))
        self.put(device)
        if passphrase is not None:
            self.secrets[ident] = passphrase

    @rule(ident=ids, draft=samples.devices)
    def record(self, ident: DeviceId, draft: Device) -> None:
        device = replace(draft, id=ident)
        self.store.record(self.devices.get(ident, device), device)
        self.put(device)

    @rule(ident=ids)
    def remove(self, ident: DeviceId) -> None:
        if ident not in self.devices:
            with pytest.raises(DeviceNotFound):
                self.wait(self.store.remove(ident))
            return
        self.wait(self.store.remove(ident))
        del self.devices[ident], self.secrets[ident]

    @rule(key=keys, value=st.none() | st.text())
    def note(self, key: str, value: str | None) -> None:
        self.store.note(key, value)
        if value is None:
            self.notes.pop(key, None)
        else:
            self.notes[key] = value

    @rule()
    def open_again(self) -> None:
        self.wait(self.store.close())
        self.store = self.wait(SqliteStore.open(Path(self.directory.name)))

    @rule()
    def everything_is_as_in_the_dictionaries(self) -> None:
        assert self.wait(self.store.load()) == self.devices
        for ident, passphrase in self.secrets.items():
            assert self.wait(self.store.passphrase(ident)) == passphrase
        for key in ("a", "b", "c"):
            assert self.wait(self.store.find_key(key)) == self.created.get(key)

    @invariant()
    def notes_answer_at_once(self) -> None:
        assert {key: self.store.recall(key) for key in ("a", "b", "c")} == {
            key: self.notes.get(key) for key in ("a", "b", "c")
        }

    def teardown(self) -> None:
        self.open_again()
        self.everything_is_as_in_the_dictionaries()
        self.wait(self.store.close())
        self.runner.close()
        self.directory.cleanup()


TestStoreAsDictionary = StoreAsDictionary.TestCase
TestStoreAsDictionary.settings = settings(max_examples=25, stateful_step_count=30)
