"""The page of the command line: every command with its arguments and options, as the commands declare them.

typer can print such a page itself. That page repeats `--help` for every command, and its form changes between the
versions of typer that dcf allows.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from dcf.cli.command_group import command_of
from dcf.cli.command_table import NOUNS, ListedCommand, rows_of
from deploy.reference.markdown import page, table
from deploy.reference.settings import number

_MARKUP: Final = re.compile(r"\\(?=\[)")


def render() -> str:
    """Return the page."""
    parts = [
        """
        `dcf --help` and `dcf COMMAND --help` say the same. The commands of every day are words alone. Each of the
        others is a noun and what is done with it. With every noun `ls` lists, `show` reads what is named, `add` makes
        it and `delete` ends it. `--context NAME` may stand behind every command. Where a command takes JSON, it takes a
        file, `-` for standard input, or the JSON itself. Commands that delete or end something ask for confirmation on
        a terminal, and need `--yes` elsewhere. `--reason` is recorded in the history. A command that is repeated with
        the same `--request-id` is applied once. `dcf --install-completion` teaches your shell the names. Commands
        end with [exit codes](exit-codes.md).
        """,
    ]
    daily = [row for row in rows_of("") if not row.is_noun]
    parts += ["## Every day", table(("command", "does"), [(_link(row), row.summary) for row in daily])]
    for row in daily:
        parts += _section(f"dcf {row.name}", command_of(row))
    for noun, about in NOUNS.items():
        listed = rows_of(noun)
        summaries = [(_link(row), row.summary) for row in listed]
        parts += [f"## dcf {noun}", about.summary, table(("command", "does"), summaries)]
        for row in listed:
            parts += _section(f"dcf {row.full_name}", command_of(row))
    return page("The command line", *parts)


def _link(row: ListedCommand) -> str:
    return f"[`dcf {row.full_name}`](#dcf-{row.full_name.replace(' ', '-')})"


def _section(title: str, command: Any) -> Iterator[str]:
    """Yield heading, help, usage and parameters of a command."""
    yield f"### {title}"
    shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    arguments = [_usage(parameter) for parameter in shown if parameter.param_type_name == "argument"]
    yield f"```text\n{' '.join([title, '[OPTIONS]', *arguments])}\n```"
    yield _text(command.help or "")
    rows_of_table = [(_names(parameter), _about(parameter)) for parameter in shown if parameter.name != "help"]
    if rows_of_table:
        yield table(("argument or option", "meaning"), rows_of_table)


def _usage(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    if argument.required or name.startswith("["):
        return name
    return f"[{name}]" + ("..." if argument.nargs == -1 else "")


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_usage(parameter)}`"
    value = "" if parameter.is_flag else f" {parameter.metavar or ('VALUE' if _range(parameter) is None else 'N')}"
    return ", ".join(f"`{name}{value}`" for name in [*parameter.opts, *parameter.secondary_opts])


def _range(parameter: Any) -> tuple[Any, Any] | None:
    """Return the bounds of a number: an option has them itself, in older versions of typer its type."""
    for holder in (parameter, getattr(parameter, "type", None)):
        low, high = getattr(holder, "min", None), getattr(holder, "max", None)
        if low is not None or high is not None:
            return low, high
    return None


def _about(parameter: Any) -> str:
    parts = [_text(parameter.help or "").replace("\n", " ")]
    low, high = _range(parameter) or (None, None)
    if low is not None:
        parts.append(f"{number(low)} or more." if high is None else f"{number(low)} to {number(high)}.")
    if parameter.show_default and type(parameter.default) in {int, float, str} and parameter.default != "":
        parts.append(f"Default: `{parameter.default}`.")
    if parameter.required and parameter.param_type_name == "option":
        parts.append("Required.")
    if getattr(parameter, "multiple", False) and "repeated" not in parts[0]:
        parts.append("May be repeated.")
    return " ".join(parts).strip()


def _text(text: str) -> str:
    """Return a text of help without the escapes of its markup."""
    return _MARKUP.sub("", text).strip()
