"""Workflows that are written in Python: a file with a flow stands wherever a command takes a workflow document.

`FILE.py` is the only flow of a file, `FILE.py:NAME` one of several. The file is imported and the flow compiled.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dcf.cli.text import clean
from dcf.data import find_file
from dcf.errors import InvalidArgument

if TYPE_CHECKING:
    from dcf.flow.compiling import CompiledFlow
    from dcf.flow.steps import Flow
    from dcf.values.json_text import Json

_SUFFIX: Final = ".py"
_MARK: Final = ":"
_FROM_FILE: Final = "@"


def is_flow(file: Path | str) -> bool:
    """Return True for a file of Python, with or without the name of a flow."""
    return _parted(str(file))[0].endswith(_SUFFIX)


def _parted(text: str) -> tuple[str, str]:
    file, _, name = text.rpartition(_MARK)
    return (file, name) if file.endswith(_SUFFIX) else (text, "")


def source_of(file: Path | str) -> str:
    """Return the file with the functions of a flow, as `dcf worker` takes it."""
    path, name = _parted(str(file))
    found = find_file(Path(path))
    return f"{path if found is None else found}{_MARK}{name}" if name else str(found or path)


def read_flow(file: Path | str) -> "CompiledFlow":
    """Import a file and compile its flow; raise InvalidFlow with all that cannot be compiled."""
    from dcf.flow.compiling import compile_flow

    return compile_flow(_flow_in(file))


def _flow_in(file: Path | str) -> "Flow[..., Any]":
    from dcf.cli.processes.functions import flows_of, import_source

    path, name = _parted(str(file))
    found = find_file(Path(path))
    if found is None:
        raise InvalidArgument(f"There is no file {clean(path)}.", "Check the path.")
    flows = {flow.function.__name__: flow for flow in flows_of(import_source(str(found)))}
    names = ", ".join(flows)
    if not flows:
        raise InvalidArgument(f"{clean(path)} has no flow.", "Put @flow above a function: from dcf import flow.")
    if name and name not in flows:
        raise InvalidArgument(f"{clean(path)} has no flow '{clean(name)}'.", f"It has {names}.")
    if not name and len(flows) > 1:
        raise InvalidArgument(f"{clean(path)} has several flows: {names}.", f"Write {path}{_MARK}{next(iter(flows))}.")
    return flows[name] if name else next(iter(flows.values()))


def read_flow_input(flow: "Flow[..., Any]", run_input: str | None, values: Sequence[str]) -> "dict[str, Json]":
    """Return the input of a flow, from a JSON document, or from `name=value` and `name=@file` on the command line."""
    from dcf.cli.documents import read_given
    from dcf.flow.arguments import checked_input

    written = [*([] if run_input is None else [run_input]), *values]
    if run_input is not None and not _is_named(run_input):
        if values:
            raise InvalidArgument("--input takes a document, or name=value for each argument.", "Leave one out.")
        return checked_input(flow, read_given(run_input, "--input"))
    arguments: dict[str, Json] = {}
    for text in written:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise InvalidArgument(f"'{clean(text)}' is no argument of the flow.", "Write name=value or name=@file.")
        arguments[name] = _value(flow, name, value)
    return checked_input(flow, arguments)


def _is_named(text: str) -> bool:
    name, equals, _ = text.partition("=")
    return bool(equals) and name.isidentifier()


def _value(flow: "Flow[..., Any]", name: str, text: str) -> "Json":
    """Read one argument: a string is taken as it stands, anything else is JSON; `@` names a file that has it."""
    from dcf.cli.documents import read_given, read_json, read_text
    from dcf.flow.arguments import takes_text

    is_text = takes_text(flow, name)
    if text.startswith(_FROM_FILE):
        file = Path(text.removeprefix(_FROM_FILE))
        return read_text(file)[1] if is_text and file.suffix != ".json" else read_json(file)
    return text if is_text else read_given(text, name)
