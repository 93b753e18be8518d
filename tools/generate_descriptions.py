#!/usr/bin/env python3
"""generate_descriptions.py: write the descriptions of the API that are served: OpenAPI of HTTP, AsyncAPI of
the channel and of MQTT. They are made of the records' fields, the commands, and what the handlers declare.

tests/test_descriptions.py proves that they are current.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from tools.descriptions import channel, mqtt  # noqa: E402
from tools.descriptions.openapi import openapi  # noqa: E402
from wifimgrd.http.description.resource import ASYNCAPI, OPENAPI, OPENAPI_OF_TOKEN  # noqa: E402

_OF_HTTP: Final = CHECKOUT / "wifimgrd" / "http" / "description"


DESCRIPTIONS: Final[Mapping[Path, Callable[[], Mapping[str, Any]]]] = {
    _OF_HTTP / OPENAPI: partial(openapi, with_token=False),
    _OF_HTTP / OPENAPI_OF_TOKEN: partial(openapi, with_token=True),
    _OF_HTTP / ASYNCAPI: channel.asyncapi,
    CHECKOUT / "wifimgrd" / "mqtt" / "asyncapi.json": mqtt.asyncapi,
}


def text_of(file: Path) -> str:
    """What a file is to contain."""
    return json.dumps(DESCRIPTIONS[file](), indent=2) + "\n"


def main() -> None:
    for file in DESCRIPTIONS:
        file.write_text(text_of(file), encoding="utf-8")


if __name__ == "__main__":
    main()
