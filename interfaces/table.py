"""The table of verbs: what commands, lists and next steps must know of a verb without importing it."""

from collections.abc import Iterator
from inspect import cleandoc, getdoc

from dcf.cli.command_table import FUNCTIONS, named
from dcf.cli.commands.derived import ON_PAGES, function_of
from dcf.cli.wording import in_commands
from dcf.verbs.description.row import CommandRow, Row
from dcf.verbs.description.verb import VERBS, Command, Verb, paged
from dcf.verbs.registry import TOOLS, ToolSpec
from dcf.verbs.wording.named import renamed
from interfaces.data import json_source


def table_source() -> str:
    """Return the file with the table."""
    specs = sorted(TOOLS.values(), key=lambda spec: place_of(spec.run.__module__))
    commands = {name: row for spec in specs for name, row in _commands(VERBS.get(spec.name))}
    summaries = {name: _first_paragraph(getdoc(named(function)) or "") for name, function in FUNCTIONS.items()}
    verbs = {spec.name: _row(spec) for spec in specs}
    return json_source({"verbs": verbs, "commands": commands, "summaries": summaries})


def place_of(module: str) -> tuple[str, bool, str]:
    """Return a key that sorts modules of verbs, so that the order in which they were imported does not count."""
    return module.rpartition(".")[0], module.endswith("_verbs"), module


def _row(spec: ToolSpec) -> Row:
    return Row(
        module=spec.run.__module__,
        toolset=spec.toolset,
        scope=str(spec.scope),
        on_lists=" ".join(sorted(spec.profiles)),
        needs=" ".join(name for name, field in spec.arguments.model_fields.items() if field.is_required()),
        for_programs=spec.for_programs,
    )


def _commands(verb: Verb | None) -> Iterator[tuple[str, CommandRow]]:
    if verb is not None:
        yield from ((command.name, _command(verb, command)) for command in verb.commands)


def _command(verb: Verb, command: Command) -> CommandRow:
    function = function_of(command)
    own = (function and getdoc(function)) or cleandoc(command.summary or "")
    summary = _first_paragraph(own) if own else paged(verb.summary, ON_PAGES)
    is_documented = function is not None and getdoc(function) and not command.example
    worded_summary = in_commands(renamed(summary, lambda name: name if name not in VERBS else f"`{name}`"))
    return CommandRow(verb.name, worded_summary, command.function if is_documented else None)


def _first_paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())
