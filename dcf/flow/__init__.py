"""Compiles flows: a workflow as a Python function is read, never run, and becomes a state machine in JSONata.

`compiling` makes the document of what was written with `dcf.steps`. All of it is pure, but for reading the source
of a flow. The caller imports the file of a flow first (`dcf.cli.flow_files`): names in the source are those
of its module, and this package never imports a module of an author.

Authors write `from dcf import flow`. Once this package was imported, Python gives them the package under that name, so
it can be called as the decorator.
"""

import sys
from types import ModuleType
from typing import Any


class _Decorator(ModuleType):
    """The package as the decorator of `dcf.steps`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from dcf.steps.vocabulary import flow  # noqa: PLC0415 - the package alone imports nothing

        return flow(*args, **kwargs)


sys.modules[__name__].__class__ = _Decorator
