"""Connects to an MQTT broker. Only that, with the look-up of the name and the TLS handshake, blocks, and so
has a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wifimgrd.mqtt import _refusals as refusals
from wifimgrd.mqtt._access import Access
from wifimgrd.mqtt._connection import WINDOW, BrokerError, Connection, Unsupported
from wifimgrd.mqtt._library import Received, close_socket, connect_socket, new_client
from wifimgrd.runtime.tasks import Backoff

CONNECT_S: Final = 30.0
"""The time limit of connecting: name, TCP, TLS and MQTT."""
RECONNECT: Final = Backoff(first_s=0.5, last_s=10.0, spread=1.0)
"""The pauses between connections."""
_PATIENCE: Final = 3


@dataclass(frozen=True, slots=True)
class Will:
    """The message that the broker publishes, retained, when the connection is lost."""

    topic: str
    payload: bytes


class Broker:
    """A broker, to which one connection after the other is made."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._patience = 0
        """Attempts without an answer that do not mean that it has no MQTT 5, since it had."""

    async def connect(
        self, client_id: str, will: Will | None, receive: Callable[[Received], None], room: Callable[[], None]
    ) -> Connection:
        """Connect with MQTT 5, or with 3.1.1 if the broker refuses that or, as some do, closes the connection
        or says nothing; raises BrokerError."""
        try:
            connection = await self._connect(client_id, will, receive, room, is_v5=True)
        except Unsupported as error:
            if not error.is_answer and self._patience:
                self._patience -= 1
                raise
            unsupported = error
        else:
            self._patience = _PATIENCE
            return connection
        try:
            return await self._connect(client_id, will, receive, room, is_v5=False)
        except Unsupported:
            raise unsupported from None

    async def _connect(
        self,
        client_id: str,
        will: Will | None,
        receive: Callable[[Received], None],
        room: Callable[[], None],
        *,
        is_v5: bool,
    ) -> Connection:
        access = self._access
        client = new_client(client_id, is_v5=is_v5)
        if will is not None:
            client.will_set(will.topic, will.payload, qos=1, retain=True)
        if access.user:
            client.username_pw_set(access.user, access.password)
        client.max_inflight_messages_set(2 * WINDOW)
        try:
            async with asyncio.timeout(CONNECT_S):
                await _in_thread(
                    lambda: connect_socket(client, access.broker, access.tls_context(), is_v5=is_v5),
                    lambda: close_socket(client),
                )
                connection = Connection(client, is_v5=is_v5, receive=receive, room=room)
                try:
                    await connection.open()
                except BaseException:
                    connection.disconnect()
                    raise
        except TimeoutError:
            raise BrokerError(f"{access.broker} does not answer") from None
        except (OSError, ValueError) as error:  # ValueError: the name cannot be encoded
            raise BrokerError(refusals.cannot_connect(str(access.broker), client.failure or error)) from None
        return connection


async def _in_thread(work: Callable[[], None], undo: Callable[[], None]) -> None:
    """Run something that blocks, in a thread that does not delay the end of the process. If nobody waits for
    it by the time it has succeeded, `undo` is called."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def finish(error: Exception | None) -> None:
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failure: Exception | None = None
        try:
            work()
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            failure = error
        try:
            loop.call_soon_threadsafe(finish, failure)
        except RuntimeError:  # the loop is closed
            if failure is None:
                undo()

    threading.Thread(target=run, name="broker-connect", daemon=True).start()
    try:
        await asyncio.wait((done,))
    except asyncio.CancelledError:
        # Perhaps in the moment in which it has succeeded: the callback is called then, too.
        done.add_done_callback(lambda _: undo() if done.exception() is None else None)
        raise
    done.result()
