"""The page of settings: every environment variable that dcf reads, from the fields of `Settings`."""

from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from dcf.settings.process import VARIABLES, meaning_of
from deploy.reference.markdown import page, table
from deploy.reference.settings_groups import GROUPS, OTHERS

Cell: TypeAlias = str

_UNITS: Final = {"TiB": 1024**4, "GiB": 1024**3, "MiB": 1024**2, "KiB": 1024}


_KINDS: Final = {bool: "true or false", Path: "path", SecretStr: "secret"}


def render() -> str:
    """Return the page."""
    parts = [
        """
        dcf reads these environment variables when a process starts. An empty variable counts as unset. Lists are
        separated by commas. Sizes are set as numbers of bytes: 1 MiB is `1048576`. A wrong value stops the process, and
        the message names the variable.
        """,
    ]
    for group in GROUPS:
        rows = [_row(name) for name in group.names]
        parts += [f"## {group.title}", table(("variable", "values", "default", "meaning"), rows), group.notes]
    parts += ["## Variables of other programs", table(("variable", "meaning"), OTHERS.items())]
    return page("Settings", *parts)


def _row(name: str) -> tuple[Cell, Cell, Cell, Cell]:
    field = VARIABLES[name]
    return f"`{name}`", _values(name, field), _default(name, field), meaning_of(name)


def _values(name: str, field: FieldInfo) -> Cell:
    kind = _without_none(field.annotation)
    if choices := _choices(kind):
        return ", ".join(f"`{choice}`" for choice in choices)
    if get_origin(kind) is tuple:
        return "directories" if get_args(kind)[0] is Path else "list"
    if kind in {int, float}:
        return _bounds(name, field)
    is_url = any(str(getattr(rule, "pattern", "")).startswith("^https?") for rule in field.metadata)
    return "URL" if is_url else _KINDS.get(kind, "text")


def _choices(kind: Any) -> list[str]:
    """Return the words of a Literal, also of one inside another."""
    if get_origin(kind) is not Literal:
        return []
    return [str(choice) for choice in get_args(kind)]


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) not in {Union, UnionType}:
        return annotation
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 else annotation


def _bounds(name: str, field: FieldInfo) -> str:
    """Return the bounds of a number as a phrase."""
    least, most = "", ""
    for rule in field.metadata:
        if isinstance(rule, Ge):
            least = amount(name, rule.ge)  # type: ignore[arg-type]  # of a number, a number
        elif isinstance(rule, Gt):
            least = f"more than {amount(name, rule.gt)}"  # type: ignore[arg-type]  # likewise
        elif isinstance(rule, Le):
            most = amount(name, rule.le)  # type: ignore[arg-type]  # likewise
    return f"{least} to {most}" if most else f"{least} or more"


def number(value: float) -> str:
    """Return a number with separators."""
    return f"{value:,.12g}" if isinstance(value, float) else f"{value:,}"


def size(value: int) -> str:
    """Return a number of bytes in the largest unit of which it is a whole number."""
    for unit, bytes_of_unit in _UNITS.items():
        if value and value % bytes_of_unit == 0:
            return f"{value // bytes_of_unit:,} {unit}"
    return f"{number(value)} bytes" if value else "0"


def amount(name: str, value: float) -> str:
    """Return a value of a setting or quota: sizes with their unit, ports as they are."""
    if name.lower().endswith("_port"):
        return str(value)
    is_size = name.lower().endswith(("_bytes", "memory"))
    return size(int(value)) if is_size else number(value)


def _default(name: str, field: FieldInfo) -> Cell:
    if field.default_factory is not None:
        return "`~/.local/share/dcf`"
    value = field.default
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        return amount(name, value)
    return f"`{','.join(value) if isinstance(value, tuple) else value}`"
