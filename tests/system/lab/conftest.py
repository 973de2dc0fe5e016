"""The lab quickens the process that it works in, here as in its own tests."""

from tests.lab.conftest import _as_it_was

__all__ = ["_as_it_was"]
