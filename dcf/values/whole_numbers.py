"""Whole numbers of JSON that was carried by a protocol which has only fractions (A2A's data parts).

It must import only the standard library: handlers of agents use it in processes without dcf's dependencies.
"""

from typing import Any


def with_whole_numbers(value: Any) -> Any:
    """Return a JSON value in which every fraction without a part behind the point is an integer: 3.0 becomes 3."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [with_whole_numbers(item) for item in value]
    if isinstance(value, dict):
        return {name: with_whole_numbers(member) for name, member in value.items()}
    return value
