"""The page of the Python API: every public class, function and method, with its signature and docstring."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any, Final

import dcf
from dcf import client as client_package
from dcf.client import Claim, Client
from deploy.reference.markdown import page

_MODULES: Final = {
    "dcf": "The names of `import dcf`.",
    "dcf.client": "The values that methods of a client return, and the types of their arguments.",
    "dcf.testing": "Runs a workflow in a test, in memory and in virtual time.",
    "dcf.webhooks": "Checks and reads the requests that dcf posts to agents.",
}
"""Public modules, in the order of the page."""

_OWN_SECTION: Final = frozenset({"Client", "AsyncClient", "Claim", "AsyncClaim", "connect", "connect_async"})
_MODULE_NAMES: Final = re.compile(r"\b(?:dcf|collections|pathlib|datetime|typing|builtins)(?:\.[a-z_]+)*\.(?=[A-Za-z])")


def render() -> str:
    """Return the page."""
    parts = [
        """
        Every method of `dcf.AsyncClient` has the name, the parameters and the result of that of `dcf.Client`, and is
        awaited; a method that returns an iterator is for `async for`. Where a record is expected as JSON, a dataclass
        or a pydantic model will do. Times are `datetime`s with a time zone. Methods raise the [errors](errors.md).
        """,
        "## Opening a client",
        *_function(dcf.connect, "dcf.connect"),
        *_function(dcf.connect_async, "dcf.connect_async"),
        "## Client",
        _text(Client),
        *_methods(Client, "client"),
        "## Claim",
        _text(Claim),
        *_methods(Claim, "claim"),
    ]
    for name, about in _MODULES.items():
        parts += [f"## {name}", about]
        for offered in _offered(name):
            parts += _entry(offered, name)
    return page("Python API", *parts)


def _offered(module_name: str) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a module, with what they are."""
    module = import_module(module_name)
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if getattr(value, "__module__", None) == module_name
    ]
    for name in sorted(names):
        is_elsewhere = module_name != "dcf.client" and name in client_package.__all__
        if not name.startswith("_") and name not in _OWN_SECTION and not is_elsewhere:
            yield name, getattr(module, name)


def _entry(offered: tuple[str, Any], module_name: str) -> Iterator[str]:
    name, value = offered
    if inspect.isclass(value):
        yield from _class(value, f"{module_name}.{name}")
    elif callable(value) and inspect.getdoc(value) and hasattr(value, "__qualname__"):
        yield from _function(value, f"{module_name}.{name}")


def _class(kind: type[Any], name: str) -> Iterator[str]:
    yield f"### {name}"
    yield _text(kind)
    if is_dataclass(kind):
        fields = [f"{field}: {_type(hint)}" for field, hint in _hints(kind).items() if not field.startswith("_")]
        yield "```python\n" + "\n".join(fields) + "\n```" if fields else ""
    yield from _methods(kind, name.rpartition(".")[2], level=4)


def _hints(kind: type[Any]) -> dict[str, Any]:
    inherited = [inspect.get_annotations(base) for base in reversed(kind.__mro__) if is_dataclass(base)]
    return {name: hint for hints in inherited for name, hint in hints.items() if "ClassVar" not in str(hint)}


def _methods(kind: type[Any], name: str, *, level: int = 3) -> Iterator[str]:
    for method, value in inspect.getmembers(kind, inspect.isfunction):
        if not method.startswith("_") and inspect.getdoc(value):
            yield from _function(value, f"{name}.{method}", level=level)
    for method, value in inspect.getmembers(kind, lambda member: isinstance(member, property)):
        if not method.startswith("_") and inspect.getdoc(value):
            yield f"{'#' * level} {name}.{method}"
            yield _text(value)


def _function(function: Callable[..., Any], name: str, *, level: int = 3) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    yield f"```python\n{_signature(function, name)}\n```"
    yield _text(function)


def _signature(function: Callable[..., Any], name: str) -> str:
    """Return the definition as Python writes it: on one line, or with a line for each parameter."""
    signature = inspect.signature(function)
    parameters = [str(_shown(item)) for item in signature.parameters.values() if item.name != "self"]
    options = [item for item in signature.parameters.values() if item.kind is item.KEYWORD_ONLY]
    if options and not any(item.startswith("*") for item in parameters):
        parameters.insert(len(parameters) - len(options), "*")
    returned = "" if signature.return_annotation is signature.empty else f" -> {_type(signature.return_annotation)}"
    head, end = f"def {name.rpartition('.')[2]}(", f"){returned}: ..."
    line = f"{head}{', '.join(parameters)}{end}"
    if len(line) <= 100:  # noqa: PLR2004 - as wide as a page
        return line
    return "\n".join([head, *(f"    {item}," for item in parameters), end])


def _shown(parameter: inspect.Parameter) -> str:
    star = _STARS.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {_type(parameter.annotation)}"
    default = parameter.default
    if default is parameter.empty:
        return f"{star}{parameter.name}{kind}"
    return f"{parameter.name}{kind}{' = ' if kind else '='}{_value(default)}"


_STARS: Final[Mapping[object, str]] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def _value(default: object) -> str:
    return "..." if "object at" in repr(default) or "MISSING" in repr(default) else repr(default)


def _type(annotation: Any) -> str:
    """Return a type as source has it, without the names of modules; a result of steps is what the method returns."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = _MODULE_NAMES.sub("", text.replace("NoneType", "None"))
    for written, shown in _SHOWN.items():
        text = re.sub(written, shown, text)
    return text.strip("'\"")


_SHOWN: Final = {
    r"\bAny\b": "Json",
    r"\bUnpack\[(\w+)\]": r"*\1",  # as Python 3.13 formats it
    r"^Generator\[ToolCall \| Pause, Json, (.+)\]$": r"\1",
    r"^Generator\[Union\[ToolCall, Pause, Item\[(.+)\]\], Json, None\]$": r"Iterator[\1]",
    r"^Optional\[(.+)\]$": r"\1 | None",
}
"""What is shown in place of parts of a type, in this order: the steps of a verb stand for what its method returns."""


def _text(documented: object) -> str:
    return inspect.getdoc(documented) or ""
