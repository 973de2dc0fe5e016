"""Workflows that are written in Python: a file with a flow stands wherever a command takes a workflow document.

`FILE.py` is the only flow of a file, `FILE.py:NAME` one of several. The file is imported and the flow compiled.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dcf.cli.text import clean
from dcf.data import find_file
from dcf.errors import InvalidArgument

if TYPE_CHECKING:
    from dcf.flow.compiling import CompiledFlow
    from dcf.steps.vocabulary import Flow

_SUFFIX: Final = ".py"
_MARK: Final = ":"


def is_flow(file: Path | str) -> bool:
    """Return True for a file of Python, with or without the name of a flow."""
    return _parted(str(file))[0].endswith(_SUFFIX)


def _parted(text: str) -> tuple[str, str]:
    file, _, name = text.rpartition(_MARK)
    return (file, name) if file.endswith(_SUFFIX) else (text, "")


def source_of(file: Path | str) -> str:
    """Return the file with the functions of a flow, as `dcf worker` takes it."""
    path, name = _parted(str(file))
    known = find_file(Path(path))
    return f"{path if known is None else known}{_MARK}{name}" if name else str(known or path)


def read_flow(file: Path | str) -> "CompiledFlow":
    """Import a file and compile its flow; raise InvalidFlow with all that cannot be compiled."""
    from dcf.flow.compiling import compile_flow

    return compile_flow(_flow_in(file))


def _flow_in(file: Path | str) -> "Flow[..., Any]":
    from dcf.cli.processes.functions import flows_of, import_source

    path, name = _parted(str(file))
    known = find_file(Path(path))
    if known is None:
        raise InvalidArgument(f"There is no file {clean(path)}.", "Check the path.")
    flows = {flow.function.__name__: flow for flow in flows_of(import_source(str(known)))}
    names = ", ".join(flows)
    if not flows:
        raise InvalidArgument(f"{clean(path)} has no flow.", "Put @flow above a function: from dcf import flow.")
    if name and name not in flows:
        raise InvalidArgument(f"{clean(path)} has no flow '{clean(name)}'.", f"It has {names}.")
    if not name and len(flows) > 1:
        raise InvalidArgument(f"{clean(path)} has several flows: {names}.", f"Write {path}{_MARK}{next(iter(flows))}.")
    return flows[name] if name else next(iter(flows.values()))
