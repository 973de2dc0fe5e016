"""A command of Redis, and a reply, as redis-py takes and gives them. Pure."""

from typing import Any, TypeAlias

Command: TypeAlias = tuple[str | bytes | int | float, ...]
Reply: TypeAlias = Any
