"""Says what a wrong environment variable must be. Reads no variable."""

from typing import Final

from pydantic_core import ErrorDetails

_EXPECTED: Final = {
    "bool_parsing": "true or false",
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "greater_than": "more than {gt:.12g}",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le:.12g} or less",
    "literal_error": "{expected}",
    "string_pattern_mismatch": "a URL that begins with http:// or https://",
}
"""The expected value of a variable in words, by pydantic's type of error."""


def expected(error: ErrorDetails) -> str:
    """Return what the variable must be, in words."""
    return _EXPECTED.get(error["type"], "something else").format(**error.get("ctx", {}))
