"""The table of verbs: what commands, lists and next steps must know of a verb without importing it."""

from collections.abc import Iterator
from inspect import cleandoc, getdoc

from dcf.cli.commands.derived import ON_PAGES, function_of
from dcf.cli.wording import in_commands
from dcf.verbs.description.verb import VERBS, Command, Verb, paged
from dcf.verbs.registry import TOOLS, ToolSpec
from dcf.verbs.wording.named import renamed

_HEAD = '''"""A row for each verb, and for each command of one. Derived by `make verbs`; do not edit."""

from collections.abc import Mapping
from typing import Final

from dcf.verbs.description.row import CommandRow, Row

TABLE: Final[Mapping[str, Row]] = {
'''


def table_source() -> str:
    """Return the module with the table."""
    specs = sorted(TOOLS.values(), key=lambda spec: place_of(spec.run.__module__))
    verbs = "".join(f"    {spec.name!r}: {_row(spec)},\n" for spec in specs)
    commands = "".join(f"    {row},\n" for spec in specs for row in _commands(VERBS.get(spec.name)))
    return f"{_HEAD}{verbs}}}\n\nCOMMANDS: Final[Mapping[str, CommandRow]] = {{\n{commands}}}\n"


def place_of(module: str) -> tuple[str, bool, str]:
    """Return a key that sorts modules of verbs, so that the order in which they were imported does not count."""
    return module.rpartition(".")[0], module.endswith("_verbs"), module


def _row(spec: ToolSpec) -> str:
    needed = " ".join(name for name, field in spec.arguments.model_fields.items() if field.is_required())
    values = map(repr, (spec.run.__module__, spec.toolset, str(spec.scope), " ".join(sorted(spec.profiles)), needed))
    programs = ", for_programs=True" if spec.for_programs else ""
    return f"Row({', '.join(values)}{programs})"


def _commands(verb: Verb | None) -> Iterator[str]:
    if verb is not None:
        yield from (f"{command.name!r}: {_command(verb, command)}" for command in verb.commands)


def _command(verb: Verb, command: Command) -> str:
    function = function_of(command)
    own = (function and getdoc(function)) or cleandoc(command.summary or "")
    summary = " ".join(own.partition("\n\n")[0].split()) if own else paged(verb.summary, ON_PAGES)
    documented = f", {command.function!r}" if function and getdoc(function) and not command.example else ""
    worded_summary = in_commands(renamed(summary, lambda name: name if name not in VERBS else f"`{name}`"))
    return f"CommandRow({verb.name!r}, {worded_summary!r}{documented})"
