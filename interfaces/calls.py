"""The table of calls: how each interface writes the call of a verb. Hints and next steps are worded by it."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from dcf.cli.command_group import command_of
from dcf.cli.command_table import named, rows
from dcf.cli.commands.derived import METAVARS, command_of_verb
from dcf.verbs.description.verb import VERBS, Verb
from dcf.verbs.registry import TOOLS, ToolSpec
from dcf.verbs.wording.row import CallRow, CommandForm, MethodForm
from interfaces.client_methods import method_of
from interfaces.data import json_source


def calls_source() -> str:
    """Return the file with the table."""
    return json_source({spec.name: _row(spec) for spec in TOOLS.values()})


def _row(spec: ToolSpec) -> CallRow:
    known = spec.arguments.model_fields
    verb = VERBS.get(spec.name)
    return CallRow(
        arguments=" ".join(name for name in known if name != "redis_url"),
        destroys=spec.destructive,
        commands=() if verb is None else tuple(_commands(verb)),
        method=None if verb is None else _method(verb),
        label=None if verb is None or verb.page is None else verb.page.title,
    )


def _commands(verb: Verb) -> Iterator[CommandForm]:
    for command in verb.commands:
        fixed = {item.tool_name: command.fixed[item.name] for item in verb.parameters if item.name in command.fixed}
        yield _form(verb, command.name, command_of_verb(verb.name, command.name).params, fixed)
    if verb.command_by_hand is not None:
        row = next(row for row in rows() if row.full_name == verb.command_by_hand)
        yield _form(verb, row.full_name, command_of(row).params, {})


def _form(verb: Verb, name: str, params: list[Any], fixed: Mapping[str, Any]) -> CommandForm:
    """Return a command as its declaration has it; options that the verb does not know are left out."""
    by_name = {item.name.removesuffix("_id"): item.tool_name for item in verb.parameters} | {"run": "workflow_id"}
    by_name |= {item.name.removesuffix("s"): item.tool_name for item in verb.parameters}
    by_name |= {item.name: item.tool_name for item in verb.parameters}
    by_option = {item.option.partition("/")[0]: item.tool_name for item in verb.parameters if item.is_option}
    positional, options = {}, {}
    for param in params:
        argument = by_name.get(param.name) or by_option.get(param.opts[0])
        if param.param_type_name == "argument":
            word = METAVARS.get(argument or "", param.name.upper()) if param.required else ""
            positional[argument or param.name] = word
        elif argument is not None:
            options[argument] = "/".join((param.opts[0], *param.secondary_opts[:1]))
    return CommandForm(name, _pairs(positional), _pairs(options), fixed)


def _method(verb: Verb) -> MethodForm:
    renamed = {item.tool_name: item.name for item in verb.parameters if item.tool_name != item.name}
    if verb.steps is None:
        positional = [item.name for item in verb.parameters if item.is_positional]
    else:
        own = inspect.signature(named(verb.steps)).parameters.values()
        positional = [item.name for item in own if item.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    return MethodForm(method_of(verb), " ".join(positional), _pairs(renamed))


def _pairs(names: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in names.items())
