"""Keys of gpg, for tests that sign."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def with_secret_keys(home: Path, *names: str) -> dict[str, str]:
    """The environment of a gpg that has a secret key of each name, and no other."""
    home.chmod(0o700)
    environment = {**os.environ, "GNUPGHOME": str(home)}
    for name in names:
        make = [
            "gpg",
            "--batch",
            "--passphrase",
            "",
            "--quick-generate-key",
            name,
            "ed25519",
            "sign",
            "never",
        ]
        subprocess.run(make, check=True, capture_output=True, env=environment)
    return environment
