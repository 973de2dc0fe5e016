"""Reads the input of a run: JSON, and for a flow also `name=value` and `name=@file` for each argument."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dcf.cli.documents import read_given, read_json, read_text
from dcf.cli.flow_files import is_flow, read_flow
from dcf.cli.text import clean
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.steps.vocabulary import Flow

_FROM_FILE: Final = "@"


def read_input(workflow: Path | str, run_input: str | None, values: Sequence[str] = ()) -> Json:
    """Read the input of a run; nothing is an empty object. That of a flow is checked against its signature."""
    if is_flow(workflow):
        return _read_flow_input(read_flow(workflow).flow, run_input, values)
    if values:
        raise InvalidArgument(f"'{clean(values[0])}' is for a flow.", "Give the input of a document with --input.")
    return {} if run_input is None else read_given(run_input, "--input")


def _read_flow_input(flow: "Flow[..., Any]", run_input: str | None, values: Sequence[str]) -> dict[str, Json]:
    """Return the input of a flow, from a JSON document, or from `name=value` and `name=@file` on the command line."""
    from dcf.steps.arguments import checked_input

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


def _value(flow: "Flow[..., Any]", name: str, text: str) -> Json:
    """Read one argument: a string is taken unchanged, any other value is JSON; `@` names a file that has it."""
    from dcf.steps.arguments import takes_text

    is_text = takes_text(flow, name)
    if text.startswith(_FROM_FILE):
        file = Path(text.removeprefix(_FROM_FILE))
        return read_text(file)[1] if is_text and file.suffix != ".json" else read_json(file)
    if is_text:
        return text
    try:
        return read_given(text, name)
    except InvalidArgument as error:
        message = f"The argument {name} of the flow cannot be read: {error.message}"
        raise InvalidArgument(message, f"Write {name}=JSON, such as {name}='[1]', or {name}=@FILE.") from None
