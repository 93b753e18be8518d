"""Objects on the bus: dispatch of calls, standard interfaces, change signals.

The library's own service layer is left unused, since it answers for objects that do not exist,
lets one bad property fail all others and sends tracebacks to callers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import structlog

from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusConnection, MethodCall, Variant
from wifimgrd.dbus.definitions import describe_object
from wifimgrd.dbus.errors import NAME_OF, error_arguments
from wifimgrd.dbus.service.authorization import Authorization
from wifimgrd.dbus.service.objects import ExportedObject, Method
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_ERROR: Final = "org.freedesktop.DBus.Error."
_END_S: Final = 5.0
_CALLS_AT_ONCE: Final = 512
"""Of one client; dbus-daemon(1) bears a quarter of that where each is to be answered."""
_MANAGED_OBJECTS: Final = "a{oa{sa{sv}}}"


class _Refused(Exception):
    """A call that the standard interfaces refuse, with the standard error's name."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.name = _ERROR + error


class ObjectServer:
    """Serves exported objects on one connection; calls that come before `open` wait for it."""

    def __init__(self, connection: BusConnection, authorization: Authorization, tasks: Tasks) -> None:
        self._connection = connection
        self._tasks = tasks
        self._authorization = authorization
        self._held_back: dict[str, list[MethodCall]] = {}
        """Calls of senders of whom it is being asked who they are: begun in the order they were sent."""
        self._objects: dict[str, ExportedObject] = {}
        self._in_hand: Counter[str] = Counter()
        """Calls that were begun and have not ended, by sender."""
        self._waiting: list[MethodCall] | None = []
        self._refusal: WifimgrdError | None = None
        connection.serve(self._called)

    def open(self) -> None:
        """Every object is there: answer the calls that came meanwhile, and those to come."""
        waiting, self._waiting = self._waiting or [], None
        for call in waiting:
            self._called(call)

    def refuse(self, error: WifimgrdError) -> None:
        """Answer every call of our own methods with `error` from here on; those that run go on."""
        self._refusal = error

    # -- objects and their signals

    def export(self, exported: ExportedObject) -> None:
        """Put an object on the bus and tell of it, from the object manager's path."""
        self._objects[exported.path] = exported
        if exported.path != names.ROOT_PATH:
            self._connection.emit(
                names.ROOT_PATH,
                names.OBJECT_MANAGER,
                "InterfacesAdded",
                "oa{sa{sv}}",
                [exported.path, _faces(exported)],
            )

    def unexport(self, path: str) -> None:
        """Take an object off the bus and tell of it."""
        exported = self._objects.pop(path)
        self._connection.emit(
            names.ROOT_PATH,
            names.OBJECT_MANAGER,
            "InterfacesRemoved",
            "oas",
            [path, [exported.definition.name]],
        )

    def get(self, path: str) -> ExportedObject | None:
        """The object at a path, or None."""
        return self._objects.get(path)

    def change(self, exported: ExportedObject, values: Mapping[str, Any], tell: Sequence[str] = ()) -> None:
        """Give an object new values and tell of those that differ, and of `tell` in any case."""
        changed = exported.change(values)
        for name in tell:
            changed[name] = exported.values[name]
        if changed:
            self._connection.emit(
                exported.path,
                names.PROPERTIES,
                "PropertiesChanged",
                "sa{sv}as",
                [exported.definition.name, _variants(exported, changed), []],
            )

    def emit(self, exported: ExportedObject, member: str, arguments: Sequence[Any]) -> None:
        """Send a signal of an object's interface."""
        signature = exported.definition.signals[member]
        self._connection.emit(
            exported.path, exported.definition.name, member, signature, [_clean(value) for value in arguments]
        )

    async def stop(self) -> None:
        """Let the calls that run end, at most some seconds."""
        await self._tasks.settle(_END_S)

    # -- calls

    def _called(self, call: MethodCall) -> None:
        if self._waiting is not None:
            self._waiting.append(call)
            return
        held_back = self._held_back.get(call.sender)
        if self._in_hand[call.sender] + len(held_back or ()) >= _CALLS_AT_ONCE:
            self._connection.reply_error(call, _ERROR + "LimitsExceeded", "too many calls at once")
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
            exported, method = self._find(call)
            if self._refusal is not None:
                self._connection.reply_error(call, NAME_OF[self._refusal.code], self._refusal.message)
                return
        except _Refused as refusal:
            self._connection.reply_error(call, refusal.name, str(refusal))
            return
        except Exception:  # noqa: BLE001 - nothing that a caller sends may take the service down
            self._crashed(call)
            return
        if identify and call.member in exported.actions and not self._authorization.knows(call.sender):
            self._held_back[call.sender] = [call]
            self._tasks.start("identify", self._identify(call.sender))
        else:
            self._tasks.start(call.member, self._run(call, exported, method))

    async def _identify(self, sender: str) -> None:
        try:
            await self._authorization.identify(sender)
        finally:
            for call in self._held_back.pop(sender):
                self._begin(call, identify=False)

    async def _run(self, call: MethodCall, exported: ExportedObject, method: Method) -> None:
        self._in_hand[call.sender] += 1
        try:
            await self._admit(call, exported.actions.get(call.member))
            answer = await method(call)
            self._connection.reply(call, exported.definition.methods[call.member].answer, answer)
        except WifimgrdError as error:
            asked = any(isinstance(argument, dict) and argument.get("explain") for argument in call.body)
            signature, further = error_arguments(error, explain=asked)
            self._connection.reply_error(call, NAME_OF[error.code], _clean(error.message), signature, further)
        except Exception:  # noqa: BLE001 - the caller gets an answer, the log gets the traceback
            self._crashed(call)
        finally:
            self._in_hand[call.sender] -= 1
            if not self._in_hand[call.sender]:
                del self._in_hand[call.sender]

    async def _admit(self, call: MethodCall, action: str | None) -> None:
        """Raises NotAuthorized, and the refusal where the hub began to stop meanwhile."""
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

    def _find(self, call: MethodCall) -> tuple[ExportedObject, Method]:
        exported = self._object(call.path)
        if call.interface not in ("", exported.definition.name):
            raise _Refused("UnknownInterface", f"{call.path} has no interface {call.interface}")
        signatures = exported.definition.methods.get(call.member)
        method = exported.methods.get(call.member)
        if signatures is None or method is None:
            raise _Refused("UnknownMethod", f"{exported.definition.name} has no method {call.member}")
        if call.signature != signatures.question:
            raise _Refused(
                "InvalidArgs",
                f'{call.member} takes "{signatures.question}", not "{call.signature}"',
            )
        return exported, method

    def _object(self, path: str) -> ExportedObject:
        try:
            return self._objects[path]
        except KeyError:
            raise _Refused("UnknownObject", f"there is no object {path}") from None

    # -- the standard interfaces; an answer is a signature and a body, None = not theirs

    def _standard(self, call: MethodCall) -> tuple[str, list[Any]] | None:
        match call.interface, call.member, call.signature:
            case names.PEER, "Ping", "":
                return "", []
            case names.PEER, "GetMachineId", "":
                return "s", [_machine_id()]
            case names.INTROSPECTABLE, "Introspect", "":
                return "s", [self._describe(call.path)]
            case names.PROPERTIES, "Get", "ss":
                exported = self._object(call.path)
                name = self._property(exported, *call.body)
                return "v", [_variant(exported, name, exported.values[name])]
            case names.PROPERTIES, "GetAll", "s":
                exported = self._object(call.path)
                self._require_interface(exported, call.body[0])
                return "a{sv}", [_variants(exported, exported.values)]
            case names.PROPERTIES, "Set", "ssv":
                name = self._property(self._object(call.path), *call.body[:2])
                raise _Refused("PropertyReadOnly", f"the property {name} can only be read")
            case names.OBJECT_MANAGER, "GetManagedObjects", "" if call.path == names.ROOT_PATH:
                return _MANAGED_OBJECTS, [{path: _faces(one) for path, one in self._objects.items()}]
            case ((names.PEER | names.INTROSPECTABLE | names.PROPERTIES | names.OBJECT_MANAGER), _, _):
                self._object(call.path)
                raise _Refused(
                    "UnknownMethod",
                    f'{call.path} has no method {call.interface}.{call.member} for "{call.signature}"',
                )
        return None

    def _property(self, exported: ExportedObject, interface: str, name: str) -> str:
        self._require_interface(exported, interface)
        if name not in exported.definition.properties:
            raise _Refused("UnknownProperty", f"{exported.definition.name} has no property {name}")
        return name

    @staticmethod
    def _require_interface(exported: ExportedObject, interface: str) -> None:
        if interface not in ("", exported.definition.name):
            raise _Refused("UnknownInterface", f"{exported.path} has no interface {interface}")

    def _describe(self, path: str) -> str:
        prefix = path.rstrip("/") + "/"
        children = {known[len(prefix) :].split("/")[0] for known in self._objects if known.startswith(prefix)}
        if path not in self._objects and not children and path not in names.CONTAINERS:
            raise _Refused("UnknownObject", f"there is no object {path}")
        exported = self._objects.get(path)
        return describe_object(
            None if exported is None else exported.definition,
            is_object_manager=path == names.ROOT_PATH,
            children=sorted(children),
        )


def _machine_id() -> str:
    """See machine-id(5)."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        raise _Refused("Failed", "this host has no machine id") from None


def _faces(exported: ExportedObject) -> dict[str, dict[str, Any]]:
    return {exported.definition.name: _variants(exported, exported.values)}


def _variants(exported: ExportedObject, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _variant(exported, name, value) for name, value in values.items()}


def _variant(exported: ExportedObject, name: str, value: Any) -> Any:
    return Variant(exported.definition.properties[name], _clean(value))


def _clean(value: Any) -> Any:
    """A text that D-Bus can carry: one NUL or lone surrogate would cost the connection."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    return value
