"""Authorization, on a private bus on which the test sets the callers' users and polkit's replies."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, MethodCall
from wifimgrd.bus.values import typed
from wifimgrd.daemon.api._authorization import _PLACES, Authorization
from wifimgrd.domain.errors import DialogueNeeded, NotAuthorized
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import names
from wifimgrd.wire.errors import name_of

POLKIT = "org.freedesktop.PolicyKit1"
STRANGER = 4242


@dataclass
class ScriptedPolkit:
    """Replies to CheckAuthorization as the test has set; records the calls.

    The real one needs a system bus, a user database and rules; tests/system uses it.
    """

    connection: BusConnection
    granted: bool = False
    challenge: bool = False
    granted_by_dialogue: bool = False
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    places: asyncio.Semaphore | None = None
    """If set, it does not reply, and counts the calls that have come."""
    waiting: list[MethodCall] = field(default_factory=list)

    def answer(self, call: MethodCall) -> None:
        (kind, details), action, _, flags, _ = typed(
            tuple[tuple[str, dict[str, str]], str, object, int, str], call.body
        )
        assert kind == "system-bus-name"
        self.asked.append((details["name"], action, flags))
        granted = self.granted or (bool(flags) and self.granted_by_dialogue)
        if self.places is None:
            self.reply(call, granted=granted)
        else:
            self.waiting.append(call)
            self.places.release()

    def reply(self, call: MethodCall, *, granted: bool) -> None:
        self.connection.reply(call, "(bba{ss})", [[granted, self.challenge, {}]])


@pytest.fixture
async def polkit(message_bus: MessageBusDaemon) -> AsyncIterator[ScriptedPolkit]:
    connection = await BusConnection.open(message_bus.address)
    scripted = ScriptedPolkit(connection)
    connection.serve(scripted.answer)
    await connection.request_name(POLKIT)
    yield scripted
    await connection.close()


@pytest.fixture
def as_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers are neither root nor the daemon's own user."""
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    monkeypatch.setattr("wifimgrd.daemon.api._authorization._ROOT", -1)


def remember_refusals(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr("wifimgrd.daemon.api._authorization._REFUSED_S", seconds)


async def change_rules(polkit: ScriptedPolkit, service: BusConnection) -> None:
    """The administrator changes polkit's rules, and the service has heard of it on return."""
    polkit.connection.emit("/org/freedesktop/PolicyKit1/Authority", f"{POLKIT}.Authority", "Changed", "", [])
    await polkit.connection.name_owner(POLKIT)
    await service.name_owner(POLKIT)  # what was sent before this is dispatched now


def call_of(caller: BusConnection, *, interactive: bool = False) -> MethodCall:
    return MethodCall(
        caller.unique_name, names.ROOT_PATH, names.MANAGER, "Reload", "", [], 1, True, interactive
    )


async def test_the_daemons_own_user_is_allowed_without_polkit(
    service: BusConnection, caller: BusConnection
) -> None:
    authorization = Authorization(service, Tasks("test"))
    await authorization.identify(caller.unique_name)
    await authorization.require(call_of(caller), names.MANAGE_DEVICES)


@pytest.mark.usefixtures("as_stranger")
async def test_without_polkit_everybody_else_is_denied(service: BusConnection, caller: BusConnection) -> None:
    authorization = Authorization(service, Tasks("test"))
    await authorization.identify(caller.unique_name)
    with pytest.raises(NotAuthorized, match="polkit does not answer"):
        await authorization.require(call_of(caller), names.CONNECT)


@pytest.mark.usefixtures("as_stranger")
async def test_polkit_is_asked_about_the_real_caller_and_its_grant_is_kept(
    service: BusConnection, caller: BusConnection, polkit: ScriptedPolkit
) -> None:
    polkit.granted = True
    authorization = Authorization(service, Tasks("test"))
    await authorization.identify(caller.unique_name)
    for _ in range(2):
        await authorization.require(call_of(caller), names.CONNECT)
    await authorization.require(call_of(caller), names.MANAGE_DEVICES)
    assert polkit.asked == [
        (caller.unique_name, names.CONNECT, 0),
        (caller.unique_name, names.MANAGE_DEVICES, 0),
    ]


@pytest.mark.usefixtures("as_stranger")
async def test_a_grant_ends_when_polkits_rules_change(
    service: BusConnection, caller: BusConnection, polkit: ScriptedPolkit
) -> None:
    polkit.granted = True
    authorization = Authorization(service, Tasks("test"))
    await authorization.start()
    await authorization.identify(caller.unique_name)
    await authorization.require(call_of(caller), names.CONNECT)
    polkit.granted = False
    await change_rules(polkit, service)
    with pytest.raises(NotAuthorized):
        await authorization.require(call_of(caller), names.CONNECT)


@pytest.mark.usefixtures("as_stranger")
async def test_a_grant_by_rules_that_have_changed_meanwhile_is_not_kept(
    service: BusConnection, caller: BusConnection, polkit: ScriptedPolkit
) -> None:
    authorization = Authorization(service, Tasks("test"))
    await authorization.start()
    await authorization.identify(caller.unique_name)
    polkit.places = asyncio.Semaphore(0)
    asking = asyncio.create_task(authorization.require(call_of(caller), names.CONNECT))
    await polkit.places.acquire()
    await change_rules(polkit, service)
    polkit.reply(polkit.waiting.pop(), granted=True)
    await asking
    polkit.places = None
    with pytest.raises(NotAuthorized):
        await authorization.require(call_of(caller), names.CONNECT)


@pytest.mark.usefixtures("as_stranger")
async def test_a_caller_that_went_is_forgotten(
    service: BusConnection, message_bus: MessageBusDaemon, polkit: ScriptedPolkit
) -> None:
    polkit.granted = True
    authorization = Authorization(service, Tasks("test"))
    short_lived = await BusConnection.open(message_bus.address)
    sender = short_lived.unique_name
    await authorization.identify(sender)
    gone = asyncio.Event()
    await service.watch(
        lambda _: gone.set(), sender=bus_names.BUS_DAEMON, member="NameOwnerChanged", arg0=sender
    )
    await short_lived.close()
    await gone.wait()
    assert not authorization.is_identified(sender)


@pytest.mark.usefixtures("as_stranger")
@pytest.mark.parametrize(("interactive", "flags"), [(True, [0, 1, 0, 1]), (False, [0])])
async def test_a_person_is_asked_where_the_caller_agrees_to_it_and_for_one_call_only(
    service: BusConnection,
    caller: BusConnection,
    polkit: ScriptedPolkit,
    interactive: bool,
    flags: list[int],
) -> None:
    polkit.challenge = polkit.granted_by_dialogue = True
    authorization = Authorization(service, Tasks("test"))
    await authorization.identify(caller.unique_name)
    for _ in range(2):
        call = call_of(caller, interactive=interactive)
        if interactive:
            await authorization.require(call, names.CONNECT)
        else:
            with pytest.raises(
                DialogueNeeded, match=r"is not authorized for org.wifimgrd1.connect"
            ) as refused:
                await authorization.require(call, names.CONNECT)
            assert name_of(refused.value) == "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"
    assert [asked for _, _, asked in polkit.asked] == flags


@pytest.mark.usefixtures("as_stranger")
@pytest.mark.parametrize(("challenge", "refusal"), [(False, NotAuthorized), (True, DialogueNeeded)])
async def test_polkit_is_not_asked_again_at_once_after_a_refusal(
    service: BusConnection,
    caller: BusConnection,
    polkit: ScriptedPolkit,
    monkeypatch: pytest.MonkeyPatch,
    challenge: bool,
    refusal: type[NotAuthorized],
) -> None:
    remember_refusals(monkeypatch, 3600)
    polkit.challenge = challenge
    authorization = Authorization(service, Tasks("test"))
    await authorization.start()
    await authorization.identify(caller.unique_name)
    messages = set()
    for _ in range(100):
        with pytest.raises(refusal) as refused:
            await authorization.require(call_of(caller), names.CONNECT)
        messages.add(refused.value.message)
    assert (len(polkit.asked), len(messages)) == (1, 1)
    polkit.granted_by_dialogue = True
    with pytest.raises(NotAuthorized):
        await authorization.require(call_of(caller), names.MANAGE_DEVICES)
    if challenge:
        await authorization.require(call_of(caller, interactive=True), names.CONNECT)
    await change_rules(polkit, service)
    polkit.granted = True
    await authorization.require(call_of(caller), names.CONNECT)


@pytest.mark.usefixtures("as_stranger")
@pytest.mark.parametrize("granted", [True, False])
async def test_of_calls_at_the_same_time_polkit_is_asked_once(
    service: BusConnection,
    caller: BusConnection,
    polkit: ScriptedPolkit,
    monkeypatch: pytest.MonkeyPatch,
    granted: bool,
) -> None:
    remember_refusals(monkeypatch, 3600)
    polkit.granted = granted
    authorization = Authorization(service, Tasks("test"))
    await authorization.identify(caller.unique_name)
    calls = [authorization.require(call_of(caller), names.CONNECT) for _ in range(100)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(one) for one in answers} == {type(None) if granted else NotAuthorized}
    assert len(polkit.asked) == 1


@pytest.mark.usefixtures("as_stranger")
async def test_what_a_person_has_granted_is_asked_for_each_of_the_calls_at_the_same_time(
    service: BusConnection, caller: BusConnection, polkit: ScriptedPolkit
) -> None:
    polkit.challenge = polkit.granted_by_dialogue = True
    authorization = Authorization(service, Tasks("test"))
    await authorization.identify(caller.unique_name)
    call = call_of(caller, interactive=True)
    await asyncio.gather(*(authorization.require(call, names.CONNECT) for _ in range(3)))
    assert [asked for _, _, asked in polkit.asked] == [0, 1, 0, 1, 0, 1]


@pytest.mark.usefixtures("as_stranger")
async def test_a_user_with_many_connections_has_few_questions_under_way(
    service: BusConnection, caller: BusConnection, polkit: ScriptedPolkit, message_bus: MessageBusDaemon
) -> None:
    """Each of them is answered for itself: polkit may decide otherwise about another process."""
    authorization = Authorization(service, Tasks("test"))
    callers = [caller, *[await BusConnection.open(message_bus.address) for _ in range(2 * _PLACES)]]
    for one in callers:
        await authorization.identify(one.unique_name)
    polkit.places = asyncio.Semaphore(0)
    asking = [asyncio.create_task(authorization.require(call_of(one), names.CONNECT)) for one in callers]
    for _ in range(_PLACES):
        await polkit.places.acquire()
    await service.name_owner(POLKIT)
    await polkit.connection.name_owner(POLKIT)  # what was sent before this has come
    assert len(polkit.waiting) == len(polkit.asked) == _PLACES
    waiting, polkit.places = polkit.waiting, None
    for call in waiting:
        polkit.reply(call, granted=False)
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(one) for one in answers} == {NotAuthorized}
    assert sorted(name for name, _, _ in polkit.asked) == sorted(one.unique_name for one in callers)
    for one in callers[1:]:
        await one.close()


@pytest.mark.usefixtures("as_stranger")
async def test_polkit_is_asked_again_a_moment_after_a_refusal(
    service: BusConnection, caller: BusConnection, polkit: ScriptedPolkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_refusals(monkeypatch, 0)
    authorization = Authorization(service, Tasks("test"))
    await authorization.identify(caller.unique_name)
    with pytest.raises(NotAuthorized):
        await authorization.require(call_of(caller), names.CONNECT)
    polkit.granted = True
    await authorization.require(call_of(caller), names.CONNECT)


@pytest.mark.usefixtures("as_stranger")
@pytest.mark.parametrize(
    ("known", "shown", "added"), [(True, "alice", "alice"), (False, str(os.getuid()), "NAME")]
)
async def test_a_refusal_names_the_user_and_the_command_that_ends_it(
    service: BusConnection,
    caller: BusConnection,
    polkit: ScriptedPolkit,
    monkeypatch: pytest.MonkeyPatch,
    known: bool,
    shown: str,
    added: str,
) -> None:
    del polkit

    def user(uid: int) -> SimpleNamespace:
        if uid != os.getuid() or not known:
            raise KeyError(uid)
        return SimpleNamespace(pw_name="alice")

    monkeypatch.setattr(pwd, "getpwuid", user)
    authorization = Authorization(service, Tasks("test"))
    await authorization.identify(caller.unique_name)
    with pytest.raises(NotAuthorized) as refused:
        await authorization.require(call_of(caller), names.CONNECT)
    assert refused.value.message == (
        f"user {shown} is not authorized for org.wifimgrd1.connect; to allow what members of the group "
        f"wifimgrd may do: sudo adduser {added} wifimgrd, then log in again"
    )
