"""The calls of clients: dispatch to the methods of the objects, and the standard interfaces.

The library's own service layer is not used, because it replies for objects that do not exist, fails all
properties because of one, and sends tracebacks to callers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

import structlog

from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, MethodCall
from wifimgrd.bus.values import typed
from wifimgrd.daemon.api._authorization import Authorization
from wifimgrd.daemon.api._objects import ExportedInterface, Method, all_of
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import names
from wifimgrd.wire.definitions import describe_object
from wifimgrd.wire.errors import NAME_OF, error_arguments, name_of
from wifimgrd.wire.kinds import valid_text

_log = structlog.get_logger()

_ERROR: Final = "org.freedesktop.DBus.Error."
_LIMIT: Final = NAME_OF[ErrorCode.TOO_MANY_REQUESTS]
_END_S: Final = 5.0
_CALLS_AT_ONCE: Final = 512
"""Of one client; dbus-daemon(1) allows a quarter of that if each call expects a reply."""
_WITHOUT_OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {"RemoveDevice": "o", "Reload": "", "ForgetHistory": "t"}
)
"""The signatures of methods that had no options before version 0.2."""
_MANAGED_OBJECTS: Final = "a{oa{sa{sv}}}"


class _Refused(Exception):
    """A call that the standard interfaces refuse, with the standard error's name."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.name = _ERROR + error


class ObjectServer:
    """Serves the calls to exported objects; those that arrive before `open` are queued, but for pings."""

    def __init__(
        self,
        connection: BusConnection,
        objects: Mapping[str, Mapping[str, ExportedInterface]],
        authorization: Authorization,
        tasks: Tasks,
    ) -> None:
        """`objects` has the interfaces of each object, by its path and by their names, at any time."""
        self._connection = connection
        self._objects = objects
        self._tasks = tasks
        self._authorization = authorization
        self._held_back: dict[str, list[MethodCall]] = {}
        """Calls of senders that are being identified, in the order in which they were sent."""
        self._running_calls: Counter[str] = Counter()
        """The number of running calls, by sender."""
        self._waiting: list[MethodCall] | None = []
        self._refusal: WifimgrdError | None = None
        connection.serve(self._called, limit=_LIMIT)

    def open(self) -> None:
        """Every object is exported: dispatch the queued calls, and new ones."""
        waiting, self._waiting = self._waiting or [], None
        for call in waiting:
            self._called(call)

    def refuse(self, error: WifimgrdError) -> None:
        """Reply with `error` to every new call of the objects' own methods; running calls continue."""
        self._refusal = error

    async def stop(self) -> None:
        """Wait for running calls to end, at most `_END_S`."""
        await self._tasks.settle(_END_S)

    # -- calls

    def _called(self, call: MethodCall) -> None:
        if self._waiting is not None and call.interface != bus_names.PEER:  # a ping asks for no object
            self._waiting.append(call)
            return
        held_back = self._held_back.get(call.sender)
        if self._running_calls[call.sender] + len(held_back or ()) >= _CALLS_AT_ONCE:
            self._connection.reply_error(call, _LIMIT, "too many calls at once")
        elif held_back is not None:
            held_back.append(call)
        else:
            self._begin(call, identify=True)

    def _begin(self, call: MethodCall, *, identify: bool) -> None:
        try:
            standard = self._standard(call)
            if standard is not None:
                self._connection.reply(call, *standard)
                return
            call = _with_options(call)
            exported, method = self._find(call)
            if self._refusal is not None:
                self._connection.reply_error(call, NAME_OF[self._refusal.code], self._refusal.message)
                return
        except _Refused as refusal:
            self._connection.reply_error(call, refusal.name, str(refusal))
            return
        except Exception:  # noqa: BLE001 - nothing that a caller sends may stop the service
            self._crashed(call)
            return
        if (
            identify
            and call.member in exported.actions
            and not self._authorization.is_identified(call.sender)
        ):
            self._held_back[call.sender] = [call]
            self._tasks.start("identify", self._identify(call.sender))
        else:
            # Not in the task: more calls may come before it runs.
            self._running_calls[call.sender] += 1
            self._tasks.start(call.member, self._run(call, exported, method))

    async def _identify(self, sender: str) -> None:
        try:
            await self._authorization.identify(sender)
        finally:
            for call in self._held_back.pop(sender):
                self._begin(call, identify=False)

    async def _run(self, call: MethodCall, exported: ExportedInterface, method: Method) -> None:
        try:
            await self._admit(call, exported.actions.get(call.member))
            answer = await method(call)
            self._connection.reply(call, exported.definition.methods[call.member].answer, answer)
        except WifimgrdError as error:
            explain = any(isinstance(argument, dict) and argument.get("explain") for argument in call.body)
            signature, further = error_arguments(error, explain=explain)
            self._connection.reply_error(call, name_of(error), valid_text(error.message), signature, further)
        except Exception:  # noqa: BLE001 - the caller gets an answer, the log gets the traceback
            self._crashed(call)
        finally:
            self._running_calls[call.sender] -= 1
            if not self._running_calls[call.sender]:
                del self._running_calls[call.sender]

    async def _admit(self, call: MethodCall, action: str | None) -> None:
        """Check the authorization; raises NotAuthorized, and the error of `refuse` where that was called."""
        if action is None:
            return
        await self._authorization.require(call, action)
        if self._refusal is not None:
            raise self._refusal

    def _crashed(self, call: MethodCall) -> None:
        _log.exception("call_crashed", path=call.path, interface=call.interface, member=call.member)
        self._connection.reply_error(
            call, NAME_OF[ErrorCode.INTERNAL], "an internal error occurred; the log says more"
        )

    def _find(self, call: MethodCall) -> tuple[ExportedInterface, Method]:
        exported = self._interfaces(call.path, call.interface)
        name = call.interface or call.path
        found = next((one for one in exported if call.member in one.definition.methods), None)
        method = None if found is None else found.methods.get(call.member)
        if found is None or method is None:
            raise _Refused("UnknownMethod", f"{name} has no method {call.member}")
        signatures = found.definition.methods[call.member]
        if call.signature != signatures.question:
            raise _Refused(
                "InvalidArgs",
                f'{call.member} takes "{signatures.question}", not "{call.signature}"',
            )
        return found, method

    def _interfaces(self, path: str, name: str) -> list[ExportedInterface]:
        """The interface of an object with that name, or all of its interfaces for an empty name."""
        try:
            exported = self._objects[path]
        except KeyError:
            raise _Refused("UnknownObject", f"there is no object {path}") from None
        if name and name not in exported:
            raise _Refused("UnknownInterface", f"{path} has no interface {name}")
        return [exported[name]] if name else list(exported.values())

    # -- the standard interfaces; a reply is a signature and a body, None = another interface

    def _standard(self, call: MethodCall) -> tuple[str, Sequence[object]] | None:
        match call.interface, call.member, call.signature:
            case bus_names.PEER, "Ping", "":
                return "", []
            case bus_names.PEER, "GetMachineId", "":
                return "s", [_machine_id()]
            case bus_names.INTROSPECTABLE, "Introspect", "":
                return "s", [self._describe(call.path)]
            case bus_names.PROPERTIES, "Get", "ss":
                exported, name = self._property(call.path, *typed(tuple[str, str], call.body))
                return "v", [exported.variant(name)]
            case bus_names.PROPERTIES, "GetAll", "s":
                found = self._interfaces(call.path, *typed(tuple[str], call.body))
                return "a{sv}", [{name: value for one in found for name, value in one.variants().items()}]
            case bus_names.PROPERTIES, "Set", "ssv":
                interface, name, _ = typed(tuple[str, str, object], call.body)
                self._property(call.path, interface, name)
                raise _Refused("PropertyReadOnly", f"the property {name} can only be read")
            case bus_names.OBJECT_MANAGER, "GetManagedObjects", "" if call.path == names.ROOT_PATH:
                return _MANAGED_OBJECTS, [{path: all_of(object_) for path, object_ in self._objects.items()}]
            case (
                (bus_names.PEER | bus_names.INTROSPECTABLE | bus_names.PROPERTIES | bus_names.OBJECT_MANAGER),
                _,
                _,
            ):
                self._interfaces(call.path, "")
                raise _Refused(
                    "UnknownMethod",
                    f'{call.path} has no method {call.interface}.{call.member} for "{call.signature}"',
                )
        return None

    def _property(self, path: str, interface: str, name: str) -> tuple[ExportedInterface, str]:
        """The interface that has a property, and its name."""
        for one in self._interfaces(path, interface):
            if name in one.definition.properties:
                return one, name
        raise _Refused("UnknownProperty", f"{interface or path} has no property {name}")

    def _describe(self, path: str) -> str:
        prefix = path.rstrip("/") + "/"
        children = {known[len(prefix) :].split("/")[0] for known in self._objects if known.startswith(prefix)}
        children |= {known[len(prefix) :] for known in names.CONTAINERS if known.rpartition("/")[0] == path}
        if path not in self._objects and not children and path not in names.CONTAINERS:
            raise _Refused("UnknownObject", f"there is no object {path}")
        interfaces = [one.definition.element for one in self._objects.get(path, {}).values()]
        return describe_object(
            interfaces,
            is_object_manager=path == names.ROOT_PATH,
            has_properties=bool(interfaces),
            children=sorted(children),
        )


def _with_options(call: MethodCall) -> MethodCall:
    """A call of a method that had no options once, and whose caller gives none."""
    if call.path != names.ROOT_PATH or call.signature != _WITHOUT_OPTIONS.get(call.member):
        return call
    return replace(call, signature=call.signature + "a{sv}", body=[*call.body, {}])


def _machine_id() -> str:
    """See machine-id(5)."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        raise _Refused("Failed", "this host has no machine id") from None
