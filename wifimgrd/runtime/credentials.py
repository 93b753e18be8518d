"""Files with secrets that systemd passes to a service."""

from __future__ import annotations

import os
from pathlib import Path


def credential(file: Path) -> Path:
    """A file of the configuration: a name without a folder is that of a systemd credential, if there is
    one of that name (systemd.exec(5), LoadCredential=)."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    if folder and file.name == str(file) and (Path(folder) / file).exists():
        return Path(folder) / file
    return file
