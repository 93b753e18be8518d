"""Configure where log events go: to the journal with their fields, or to stderr as text."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor

from wifimgrd.runtime._journal import Journal, is_journal_at, record_of
from wifimgrd.runtime._repetitions import Repetitions

_ASIDE: Final = ("level", "event", "exception")
_STDERR: Final = 2


def configure(level: int = logging.INFO) -> None:
    """Send events of at least `level` to the journal where stderr is connected to it; else to stderr,
    on a terminal with colours that it shows and the user wants, or as one line of `event key=value`."""
    repetitions = Repetitions()
    processors: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        repetitions,
        structlog.processors.add_log_level,
        structlog.processors.StackInfoRenderer(),
    ]
    factory: Callable[..., object] = structlog.PrintLoggerFactory(cast(TextIO, _Unfailing(sys.stderr)))
    if is_for_journal():
        journal = Journal()
        atexit.register(journal.flush)
        processors += [structlog.processors.format_exc_info, _as_record]
        factory = lambda *_: journal  # noqa: E731 - what structlog calls a factory
        logging.basicConfig(handlers=[_ToJournal()], level=logging.WARNING)
    elif sys.stderr.isatty():
        colours = os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
        renderer = structlog.dev.ConsoleRenderer(colors=colours)
        processors += [structlog.processors.TimeStamper("%H:%M:%S"), renderer]
    else:
        processors += [structlog.processors.format_exc_info, _as_line]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )
    atexit.register(repetitions.flush)  # runs before the journal's, which was registered before
    # Does nothing where there is a handler.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")


def is_for_journal() -> bool:
    """Whether events go to the journal."""
    return is_journal_at(_STDERR)


class _Unfailing:
    """A stream that drops what it cannot write: a full disk or closed terminal must not stop the process."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


class _ToJournal(logging.Handler):
    """Forwards what libraries log through Python's `logging`."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger().bind(logger=record.name)
        log.log(record.levelno, record.getMessage(), exc_info=record.exc_info or None)


def _as_record(logger: object, method: str, event: EventDict) -> bytes:
    del logger, method
    return record_of(event, line_of(event))


def _as_line(logger: object, method: str, event: EventDict) -> str:
    del logger, method
    return f"{event.get('level', 'info')}: {line_of(event)}"


def line_of(event: Mapping[str, object]) -> str:
    """One line of text, readable as it is, and the traceback where there is one."""
    pairs = [f"{key}={_quoted(value)}" for key, value in event.items() if key not in _ASIDE]
    trace = event.get("exception", "")
    return " ".join([str(event.get("event", "")), *pairs]) + (f"\n{trace}" if trace else "")


def _quoted(value: object) -> str:
    text = str(value)
    plain = bool(text) and text.isprintable() and not any(c in text for c in ' "=')
    return text if plain else repr(text)
