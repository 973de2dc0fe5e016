"""The API key that a command calls a server with: from a file that only its owner can read, or from DCF_API_KEY.

A key is sent in a header and shown nowhere, so no message here repeats what was read.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dcf.cli.places.context import Context
from dcf.cli.places.private_files import read_private
from dcf.errors import InvalidArgument

_KEY: Final = re.compile(r"[!-~]{1,1000}")


def key_for(context: Context, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the key for a server, or None where there is none.

    A context that names a file uses no other key: DCF_API_KEY may be that of another server.
    """
    if context.key_file is None:
        text = environment.get("DCF_API_KEY")
        return check_key(text, "DCF_API_KEY") if text else None
    path = Path(context.key_file).expanduser()
    private = read_private(path)
    if private is None:
        raise InvalidArgument(
            f"The key file of context {context.name} is not there: {path}.",
            f"Make it, or give the context another one: `dcf context add {context.name} --replace ...`.",
        )
    return check_key(private, str(path))


def check_key(text: str, source: str) -> str:
    """Return a key without the blanks around it; raise InvalidArgument for a text that can be none."""
    key = text.strip()
    if not _KEY.fullmatch(key):
        raise InvalidArgument(f"{source} holds no API key.", "It must hold one key, as `dcf keys add` prints it.")
    return key
