"""The settings of `wifimgrd-mavlink`: made of the configuration once, checked, and complete."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from wifimgrd.config.configuration import Config, FileUnusable
from wifimgrd.config.web_address import MavlinkAddress, mavlink_address
from wifimgrd.mavlink._signing import SHORTEST_PASSPHRASE, key_of
from wifimgrd.runtime.credentials import credential


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the process."""

    connection: MavlinkAddress
    system: int = 1
    devices: tuple[str, ...] = ()
    """Names or ids; empty = those with a driver."""
    record_while_armed: bool = False
    key: bytes | None = field(default=None, repr=False)
    """None = frames are not signed."""
    state_folder: Path | None = None

    @classmethod
    def of(cls, config: Config) -> Settings | None:
        """Read the configuration; None if it has no connection. Raises FileUnusable."""
        mavlink, folder = config.mavlink, os.environ.get("STATE_DIRECTORY")
        if not mavlink.connection:
            return None
        return cls(
            mavlink_address(mavlink.connection),
            mavlink.system,
            tuple(map(str, mavlink.devices)),
            mavlink.record_while_armed,
            None if mavlink.signing_key_file is None else _key(credential(mavlink.signing_key_file)),
            Path(folder) if folder else None,
        )


def _key(file: Path) -> bytes:
    expected = f"one line, a passphrase of at least {SHORTEST_PASSPHRASE} characters"
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FileUnusable(f"[mavlink] signing_key_file: {file} cannot be read: {reason}") from None
    if len(lines) != 1 or len(lines[0]) < SHORTEST_PASSPHRASE:
        raise FileUnusable(f"[mavlink] signing_key_file: {file} must have {expected}")
    return key_of(lines[0])
