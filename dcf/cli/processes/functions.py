"""Finds and imports the Python file or module that registers task functions."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import TracebackType

from dcf.cli.text import clean
from dcf.data import PACKAGE, find_file
from dcf.errors import DcfError, InvalidArgument
from dcf.worker import FUNCTIONS, TaskFunction

_HOW_TO = 'Decorate one:  from dcf.worker import task;  @task("StateName") def work(given): ...'


def load_functions(source: str, states: Sequence[str]) -> Mapping[str, TaskFunction]:
    """Import a Python file or module; return its functions, or only those of the named states."""
    spec = _find(source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    assert spec.loader is not None, "_find() refuses what has no code"
    try:
        spec.loader.exec_module(module)
    except DcfError as error:  # an error of dcf, about how functions are registered
        raise InvalidArgument(clean(f"{_place(error.__traceback__)}: {error.message}", 1000), error.hint) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's code raises while it is imported
        raise InvalidArgument(f"{clean(source)} cannot be imported: {_where(error)}", "Mend the file.") from None
    return _chosen(source, states)


def check_source(source: str) -> str:
    """Check that the file or module exists, without importing it."""
    _find(source)
    return source


def default_source(workflow: Path) -> str:
    """Return the Python file beside a workflow document; raise InvalidArgument when there is none."""
    beside = workflow.with_suffix(".py")
    found = find_file(beside)
    if found is None:
        raise InvalidArgument(
            f"There are no task functions at {beside}.",
            "Pass the Python file or module that registers them with --workers.",
        )
    return str(found)


def _find(source: str) -> ModuleSpec:
    spec = _find_file(Path(source)) if source.endswith(".py") else _find_module(source)
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"There is no Python file or module '{clean(source)}'.", "Check the name or the path.")
    return spec


def _find_file(path: Path) -> ModuleSpec | None:
    """Return the import spec of a file; it can import what lies beside it, and hides no module of its name."""
    if not path.is_file():
        return None
    _make_importable(path.resolve().parent)
    return importlib.util.spec_from_file_location(f"dcf_functions_{path.stem}", path)


def _find_module(name: str) -> ModuleSpec | None:
    _make_importable(Path.cwd())
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a parent package is missing or broken, or the name is invalid
        return None


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _chosen(source: str, states: Sequence[str]) -> Mapping[str, TaskFunction]:
    if not FUNCTIONS:
        raise InvalidArgument(f"{clean(source)} registers no task function.", _HOW_TO)
    missing = [state for state in states if state not in FUNCTIONS]
    if missing:
        known = ", ".join(map(clean, sorted(FUNCTIONS)))
        raise InvalidArgument(
            f"{clean(source)} registers no function for the state '{clean(missing[0])}', only for: {known}.",
            _mistaken(missing, states) or _HOW_TO,
        )
    return {state: FUNCTIONS[state] for state in states} if states else FUNCTIONS


def _mistaken(missing: Sequence[str], states: Sequence[str]) -> str | None:
    """Return the hint for a function whose name no state has, but one that lacks a function has nearly."""
    for name in sorted(FUNCTIONS.keys() - set(states)):
        near = get_close_matches(name, missing, 1)
        if near:
            return f"No Task is called '{clean(name)}': write @task(\"{clean(near[0])}\") there."
    return None


def _where(error: BaseException) -> str:
    """Return what went wrong and in which line, in one sentence."""
    if isinstance(error, SyntaxError):
        return clean(f"SyntaxError: {error.msg} ({error.filename}, line {error.lineno})", 1000)
    return clean(f"{type(error).__name__}: {error} ({_place(error.__traceback__)})", 1000)


def _place(trace: TracebackType | None) -> str:
    """Return the last line of the user's code in a traceback, not a line of dcf."""
    frames = traceback.extract_tb(trace)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(PACKAGE)]
    frame = own[-1] if own else frames[-1]
    return f"{frame.filename}, line {frame.lineno}"
