"""The Range of a request (RFC 9110, 14): one part of a file, or an error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_ONE_RANGE: Final = re.compile(r"bytes=(?:([0-9]{1,19})-([0-9]{0,19})|-([0-9]{1,19}))", re.IGNORECASE)


class UnsatisfiableError(Exception):
    """No part of the file can be sent for this Range."""


def requested_part(ranges: Sequence[str], if_range: str | None, tag: str, size: int) -> range | None:
    """The octets that the Range headers `ranges` name in a file of `size` octets, cut at the end of the
    file; None = the whole file, because there is no Range or If-Range names another file.

    `tag` is the file's strong entity tag, quoted. Raises UnsatisfiableError for several ranges, another
    unit, and a part behind the end.
    """
    if not ranges or (if_range is not None and if_range.strip() != tag):
        return None
    found = _ONE_RANGE.fullmatch(ranges[0].strip()) if len(ranges) == 1 else None
    if found is None:
        raise UnsatisfiableError
    first, last, suffix = found.groups()
    if suffix is not None:
        part = range(max(0, size - int(suffix)), size)
    else:
        part = range(int(first), min(int(last) + 1, size) if last else size)
    if not part:
        raise UnsatisfiableError
    return part
