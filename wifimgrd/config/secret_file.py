"""Files with a secret, which the configuration names."""

from __future__ import annotations

from pathlib import Path

from wifimgrd.config.configuration import FileUnusable
from wifimgrd.runtime.credentials import credential


def secret_in(file: Path, key: str, what: str, shortest: int = 1) -> str:
    """The secret in a file of one line, or in the systemd credential of that name. The `key` of the
    configuration names it, and `what` it is, is in the sentence of FileUnusable, which this raises."""
    path = credential(file)
    try:
        secret = path.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FileUnusable(f"{key}: {path} cannot be read: {reason}") from None
    if "\n" in secret or len(secret) < shortest:
        raise FileUnusable(f"{key}: {path} must have one line, {what}")
    return secret
