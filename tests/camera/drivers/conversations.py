"""A driver's conversations with a scripted camera, byte by byte, without sockets and without time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.camera.drivers.protocol import (
    Answer,
    Conversation,
    NetworkDriver,
    Nonsense,
    Pause,
    Push,
    Request,
)
from wifimgrd.domain.recordings import RecordedFile

T = TypeVar("T")
Camera = Callable[[bytes], bytes]
"""Answers a request."""
NOW_US = 1_800_000_000_000_000
TOOK_US = 40_000


def talked(
    conversation: Conversation[T], exchange: Callable[[Request], Answer], pause: Callable[[float], None]
) -> T:
    """Carries a conversation out."""
    try:
        step = next(conversation)
        while True:
            if isinstance(step, Pause):
                pause(step.seconds)
                step = next(conversation)
            else:
                step = conversation.send(exchange(step))
    except StopIteration as end:
        value: T = end.value
        return value


@dataclass
class Talk:
    """Carries conversations out."""

    driver: NetworkDriver
    camera: Camera
    now_us: int = NOW_US
    """When the next answer comes."""
    requests: list[bytes] = field(default_factory=list)
    paused_s: float = 0.0

    def __call__(self, conversation: Conversation[T]) -> T:
        return talked(conversation, self.answer, self.pause)

    def pause(self, seconds: float) -> None:
        self.paused_s += seconds
        self.now_us += round(seconds * 1_000_000)

    def answer(self, request: Request) -> Answer:
        return self.exchange(request.data, request.number, request.most_bytes)

    def exchange(self, data: bytes, number: int, most_bytes: int = 0) -> Answer:
        self.requests.append(data)
        parser = self.driver.parser()
        parser.expect(most_bytes)
        found = [*parser.feed(self.camera(data))]
        if not found and (last := parser.end()) is not None:
            found.append(last)
        for one in found:
            if isinstance(one, Push):
                self.driver.pushed(one, self.now_us)
            elif one.number == number:
                return one.timed(self.now_us, TOOK_US)
        raise Nonsense("the camera did not answer")

    def command(self, *, on: bool) -> Answer:
        """Prepare, send and conclude; the answer that says that it is done."""
        if self(self.driver.prepare(on=on)):
            return Answer(0, b"")
        request = self.driver.command(on=on)
        return self(self.driver.conclude(self.exchange(request.data, request.number), on=on))


def find(talk: Talk, past: PastRecording) -> tuple[RecordedFile, ...] | None:
    """The files of a recording, which are found with at most three requests."""
    talk.requests.clear()
    try:
        return talk(talk.driver.recorded_files(past))
    finally:
        assert len(talk.requests) <= 3


def record_and_stop(talk: Talk) -> None:
    """For 20 s, until NOW_US."""
    talk.now_us = NOW_US - 20_000_000
    talk.command(on=True)
    talk.now_us = NOW_US
    talk.command(on=False)


def http(content: Any, status: int = 200) -> bytes:
    """An HTTP answer with JSON."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def target(request: bytes) -> str:
    """The target of an HTTP request."""
    return request.split(b" ", 2)[1].decode()


def content(request: bytes) -> Any:
    """The JSON of an HTTP request; {} without a body."""
    body = request.partition(b"\r\n\r\n")[2]
    return json.loads(body) if body else {}
