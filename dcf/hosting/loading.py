"""Finds a handler by `module:function` or `file.py:function`, as the agents file names it. Standard library only."""

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

from dcf.errors import InvalidArgument
from dcf.hosting.protocol import Handler

_HOW_TO = 'Write handler = "module:function" or "file.py:function"; the function is async def handle(work, tools).'


def load_handler(source: str, folder: Path) -> Handler:
    """Import a handler; files and modules are searched first in the directory of the agents file."""
    place, colon, name = source.rpartition(":")
    if not colon or not place or not name:
        raise InvalidArgument(f"'{source}' names no handler.", _HOW_TO)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    module = _from_file(folder / place) if place.endswith(".py") else _named(place)
    handler = getattr(module, name, None)
    if not inspect.iscoroutinefunction(handler):
        fault = "has no function" if handler is None else "has no async function"
        raise InvalidArgument(f"{place} {fault} '{name}'.", _HOW_TO)
    return handler


def _named(name: str) -> ModuleType:
    # nosemgrep: nothing-of-a-caller-is-executed - named by the operator in the agents file
    return importlib.import_module(name)


def _from_file(path: Path) -> ModuleType:
    name = f"dcf_handler_{path.stem}"
    # nosemgrep: nothing-of-a-caller-is-executed - named by the operator in the agents file
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InvalidArgument(f"There is no Python file '{path.name}' in the directory of the agents file.", _HOW_TO)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
