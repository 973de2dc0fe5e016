"""The file of contexts: `~/.config/dcf/contexts.toml`. It names files with keys, and must not contain a key.

Reading is strict: unknown content is refused, so that no command goes to another place than its user means.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from dcf.cli.places.context import NOTHING, Context, Contexts, check_name, check_url
from dcf.cli.places.private_files import read_private, write_private
from dcf.errors import DcfError, InvalidArgument
from dcf.values.identifiers import check_id
from dcf.values.json_text import Json

_FIELDS: Final = ("url", "key_file", "project")
_MEND: Final = "Correct the file, or remove it and add the contexts again: `dcf context add`."


def path_of_contexts(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where the contexts are kept: DCF_CONTEXTS, or a file of the user's configuration."""
    if chosen := environment.get("DCF_CONTEXTS"):
        return Path(chosen).expanduser()
    base = environment.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "dcf" / "contexts.toml"


def read_contexts(path: Path) -> Contexts:
    """Return the contexts of a file, none if there is no file; raise InvalidArgument for a file that is not right."""
    text = read_private(path)
    if text is None:
        return NOTHING
    import tomllib

    try:
        return _contexts(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(f"{path} is no TOML: {error}.", _MEND) from None
    except DcfError as error:
        raise InvalidArgument(f"{path} is not right: {error.message}", _MEND) from None


def write_contexts(path: Path, contexts: Contexts) -> None:
    """Replace the file of contexts."""
    write_private(path, "".join(_lines(contexts)))


def key_path(path: Path, name: str) -> Path:
    """Return where the key of a context is kept that was read from standard input."""
    return path.parent / f"{name}.key"


def _contexts(document: Mapping[str, Json]) -> Contexts:
    tables = document.get("contexts", {})
    if not isinstance(tables, dict) or not document.keys() <= {"current", "contexts"}:
        raise InvalidArgument("it may have `current` and tables [contexts.NAME] only.")
    contexts = Contexts(
        known={check_name(name): _context(name, table) for name, table in tables.items()},
        current=_text(document, "current"),
    )
    if contexts.current is not None:
        contexts.named(contexts.current)
    return contexts


def _context(name: str, table: Json) -> Context:
    if not isinstance(table, dict) or not table.keys() <= set(_FIELDS) or "url" not in table:
        raise InvalidArgument(f"[contexts.{name}] must have `url`, and may have `key_file` and `project`.")
    url, key_file, project = (_text(table, field) for field in _FIELDS)
    return Context(
        name=name,
        url=check_url(url or "", "url"),
        key_file=key_file,
        project=None if project is None else check_id(project, "project"),
    )


def _text(table: Mapping[str, Json], name: str) -> str | None:
    value = table.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidArgument(f"{name} must be a text.")
    return value


def _lines(contexts: Contexts) -> Iterator[str]:
    if contexts.current is not None:
        yield _line("current", contexts.current)
    for name, context in sorted(contexts.known.items()):
        yield f"\n[contexts.{name}]\n"
        yield from (_line(field, value) for field in _FIELDS if (value := getattr(context, field)) is not None)


def _line(name: str, value: str) -> str:
    """Return a line of TOML. A JSON text of characters that can be printed is a TOML text as well."""
    if not value.isprintable():
        raise InvalidArgument(f"{name} has characters that cannot be printed.", "Write it without them.")
    return f"{name} = {json.dumps(value, ensure_ascii=False, allow_nan=False)}\n"
