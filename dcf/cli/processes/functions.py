"""Finds and imports the Python file or module that registers task functions."""

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Final

from dcf.cli.text import clean
from dcf.data import PACKAGE, find_file
from dcf.errors import DcfError, InvalidArgument
from dcf.steps.suggestions import near
from dcf.steps.vocabulary import IMPORTED_AS
from dcf.worker import FUNCTIONS

if TYPE_CHECKING:
    from dcf.steps.vocabulary import Flow
    from dcf.worker.state_functions import StateFunction

FLOW_MARK: Final = ":"
"""Stands between a file and the name of one of its flows."""

_AWAITED: Final = "'await' outside async function"
_MISSPELT: Final = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_HOW_TO = 'Decorate one:  from dcf.worker import task;  @task("StateName") def work(given): ...'


def load_functions(source: str, states: Sequence[str]) -> "Mapping[str, StateFunction]":
    """Import a Python file or module; return its functions, or only those of the named states.

    The functions of its flows count as well; `FILE.py:FLOW` takes those of one flow.
    """
    name, _, flow = source.partition(FLOW_MARK)
    module = import_source(name)
    flows = [own for own in flows_of(module) if flow in {"", own.function.__name__}]
    return _chosen(name, states, {**FUNCTIONS, **_functions_of(flows)})


def import_source(source: str) -> ModuleType:
    """Import a Python file or module, as a user's code; raise InvalidArgument if that fails."""
    spec = _find(source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    assert spec.loader is not None, "_find() refuses what has no code"
    try:
        spec.loader.exec_module(module)
    except DcfError as error:  # an error of dcf, about how functions are registered
        raise InvalidArgument(clean(f"{_place(error.__traceback__)}: {error.message}", 1000), error.hint) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's code raises while it is imported
        del sys.modules[spec.name]
        raise InvalidArgument(f"{clean(source)} cannot be imported: {_where(error)}", _remedy(error)) from None
    return module


def flows_of(module: ModuleType) -> "list[Flow[..., Any]]":
    """Return the flows that a module itself has, in the order of the file."""
    if "dcf.steps.vocabulary" not in sys.modules:
        return []
    from dcf.steps.vocabulary import Flow

    flows = (value for value in vars(module).values() if isinstance(value, Flow))
    return list(dict.fromkeys(flow for flow in flows if flow.function.__module__ == module.__name__))


def _functions_of(flows: "Iterable[Flow[..., Any]]") -> "Mapping[str, StateFunction]":
    """Return the functions of flows by state."""
    chosen = list(flows)
    if not chosen:
        return {}
    from dcf.flow.compiling import compile_flow
    from dcf.worker.flow_functions import functions_of_all

    return functions_of_all(map(compile_flow, chosen))


def check_source(source: str) -> str:
    """Check that the file or module exists, without importing it."""
    _find(source.partition(FLOW_MARK)[0])
    return source


def default_source(workflow: Path) -> str:
    """Return the Python file in the directory of a workflow document; raise InvalidArgument when there is none."""
    python_file = workflow.with_suffix(".py")
    file = find_file(python_file)
    if file is None:
        raise InvalidArgument(
            f"There are no task functions at {python_file}.",
            "Pass the Python file or module that registers them with --workers.",
        )
    return str(file)


def _find(source: str) -> ModuleSpec:
    spec = _find_file(Path(source)) if source.endswith(".py") else _find_module(source)
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"There is no Python file or module '{clean(source)}'.", "Check the name or the path.")
    return spec


def _find_file(path: Path) -> ModuleSpec | None:
    """Return the import spec of a file; it can import from its directory, and hides no module of its name."""
    if not path.is_file():
        return None
    _make_importable(path.resolve().parent)
    name, place = f"{IMPORTED_AS}{path.stem}", str(path.absolute())
    return importlib.util.spec_from_file_location(name, place, loader=_UncachedLoader(name, place))


class _UncachedLoader(SourceFileLoader):
    """Compiles a file each time. Python keeps bytecode by second and size, and a quick correction changes neither."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _find_module(name: str) -> ModuleSpec | None:
    _make_importable(Path.cwd())
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a parent package is missing or broken, or the name is invalid
        return None


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _chosen(
    source: str, states: Sequence[str], functions: "Mapping[str, StateFunction]"
) -> "Mapping[str, StateFunction]":
    if not functions:
        raise InvalidArgument(f"{clean(source)} registers no task function.", _HOW_TO)
    missing = [state for state in states if state not in functions]
    if missing:
        known = ", ".join(map(clean, sorted(functions)))
        raise InvalidArgument(
            f"{clean(source)} registers no function for the state '{clean(missing[0])}', only for: {known}.",
            _mistaken(missing, states, functions) or _HOW_TO,
        )
    return {state: functions[state] for state in states} if states else functions


def _mistaken(missing: Sequence[str], states: Sequence[str], functions: Iterable[str]) -> str | None:
    """Return the hint for a function whose name no state has, but one that lacks a function has nearly."""
    for name in sorted(set(functions) - set(states)):
        near = get_close_matches(name, missing, 1)
        if near:
            return f"No Task is called '{clean(name)}': write @task(\"{clean(near[0])}\") there."
    return None


def _where(error: BaseException) -> str:
    """Return what went wrong and in which line, in one sentence."""
    if isinstance(error, SyntaxError):
        return clean(f"SyntaxError: {error.msg} ({error.filename}, line {error.lineno})", 1000)
    return clean(f"{type(error).__name__}: {error} ({_place(error.__traceback__)})", 1000)


def _remedy(error: BaseException) -> str:
    """Return what to do about an error in a file that is imported; authors of flows often write await."""
    if isinstance(error, SyntaxError) and error.msg == _AWAITED:
        return "Leave await out: a flow waits for each of its steps."
    misspelt = _MISSPELT.match(str(error)) if isinstance(error, ImportError) else None
    if misspelt is None:
        return "Correct the file."
    return f"Correct the import.{near(misspelt[1], dir(sys.modules.get(misspelt[2])))}"


def _place(trace: TracebackType | None) -> str:
    """Return the last line of the user's code in a traceback, not a line of dcf."""
    frames = traceback.extract_tb(trace)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(PACKAGE)]
    frame = own[-1] if own else frames[-1]
    return f"{frame.filename}, line {frame.lineno}"
