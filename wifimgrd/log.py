"""Where log events go: to stderr, for people on a terminal and for the journal."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any, Final

import structlog

_PRIORITIES: Final = {"critical": 2, "error": 3, "warning": 4, "info": 6, "debug": 7}


def configure(level: int = logging.INFO) -> None:
    """Send events of at least `level` to stderr: coloured on a terminal, else as one line of
    `event key=value`, with sd-daemon(3)'s priority in front where the journal reads it."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.StackInfoRenderer(),
    ]
    if sys.stderr.isatty():
        shared += [structlog.processors.TimeStamper("%H:%M:%S"), structlog.dev.ConsoleRenderer()]
    else:
        shared += [structlog.processors.format_exc_info, _line]
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")


def _line(logger: object, method: str, event: MutableMapping[str, Any]) -> str:
    """One line of text, readable as it is."""
    del logger, method
    level = event.pop("level", "info")
    name = event.pop("event", "")
    trace = event.pop("exception", "")
    told = [f"{key}={_quoted(value)}" for key, value in event.items()]
    prefix = f"<{_PRIORITIES.get(level, 6)}>" if "JOURNAL_STREAM" in os.environ else f"{level}: "
    return prefix + " ".join([str(name), *told]) + (f"\n{trace}" if trace else "")


def _quoted(value: object) -> str:
    text = str(value)
    plain = bool(text) and text.isprintable() and not any(c in text for c in ' "=')
    return text if plain else repr(text)
