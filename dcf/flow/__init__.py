"""Flows: a workflow as one Python function, which is read, never run, and becomes a plain state machine in JSONata.

`steps` is what authors import, `compiling` makes the document. Everything here is pure, but for reading the source of a
flow. Whoever wants a flow from a file imports that file first (`dcf.cli.flow_files`): names in the source of a flow stand
for the objects of its module, and this package never imports one.

Authors write `from dcf import flow`. Once this package was imported, Python gives them the package under that name, so it
can be called as the decorator.
"""

import sys
from types import ModuleType
from typing import Any


class _Decorator(ModuleType):
    """The package as the decorator of `dcf.flow.steps`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from dcf.flow.steps import flow  # noqa: PLC0415 - the package alone imports nothing

        return flow(*args, **kwargs)


sys.modules[__name__].__class__ = _Decorator
