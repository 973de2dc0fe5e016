"""The interfaces' own words: commands to paste, calls of the Python client, labels of the page.

Words in angle brackets in a call are to be filled in: on the command line such a word is in capitals.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dcf.values.json_text import Json, dump
from dcf.verbs.description.table import TABLE
from dcf.verbs.wording.calls import CALLS
from dcf.verbs.wording.row import CommandForm, MethodForm, pairs
from dcf.verbs.wording.sentences import Call

_OPEN: Final = re.compile(r"<([^<>]+)>")


@dataclass(frozen=True, slots=True)
class Commands:
    """Calls as commands of `program`, which are quoted for a shell."""

    program: str = "dcf"

    def call(self, call: Call) -> str | None:
        """Return the call in backticks, as a command."""
        command = self.command(call)
        return None if command is None else f"`{command}`"

    def command(self, call: Call) -> str | None:
        """Return the call as a command to paste; None for a verb that is no command."""
        form = _form_of(call) if call.verb in CALLS else None
        if form is None:
            return None
        words = [form.name, *map(_quoted, _positional(form, call)), *_options(form, call)]
        return " ".join((self.program, *words))

    def argument(self, verb: str, name: str) -> str | None:
        """Return the option of an argument."""
        for form in CALLS[verb].commands:
            option = pairs(form.options).get(name)
            if option is not None:
                return f"`{option.partition('/')[0]}`"
        return None

    def value(self, verb: str, name: str, value: Json) -> str | None:
        """Return the option of an argument with its value."""
        form = next((form for form in CALLS[verb].commands if name in pairs(form.options)), None)
        return None if form is None else f"`{' '.join(_option(pairs(form.options)[name], value))}`"


def _form_of(call: Call) -> CommandForm | None:
    """Return the command for a call: of several the one that says most of it, with the least besides."""
    forms = [form for form in CALLS[call.verb].commands if not _differs(form, call)]
    return max(forms, key=lambda form: (*_said(form, call), -len(form.fixed)), default=None)


def _differs(form: CommandForm, call: Call) -> bool:
    return any(value is not None and call.value(name) not in (None, value) for name, value in form.fixed.items())


def _said(form: CommandForm, call: Call) -> tuple[int, int]:
    """Return how many of the arguments of a call the command says, and how many of these by its name alone."""
    own_names = {*pairs(form.positional), *pairs(form.options)}
    fixed = {name for name, value in call.arguments.items() if name in form.fixed and form.fixed[name] == value}
    return len({*fixed, *(name for name in call.arguments if name in own_names)}), len(fixed)


def _positional(form: CommandForm, call: Call) -> Iterator[str]:
    for name, word in pairs(form.positional).items():
        value = call.value(name)
        if value is None and not word:
            return
        yield word if value is None else _text(value)


def _options(form: CommandForm, call: Call) -> Iterator[str]:
    options = pairs(form.options)
    for name, value in call.arguments.items():
        if name in options:
            yield from _option(options[name], value)


def _option(option: str, value: Json) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _option(option, item)
    elif isinstance(value, bool):
        yes, _, no = option.partition("/")
        if value or no:
            yield yes if value else no
    elif value is not None:
        yield option
        yield _quoted(_text(value))


def _text(value: Json) -> str:
    if not isinstance(value, str):
        return dump(value)
    open_value = _OPEN.fullmatch(value)
    return value if open_value is None else open_value[1].upper()


def _quoted(text: str) -> str:
    return shlex.quote(text) if text else "''"


class Methods:
    """Calls as those of the Python client."""

    def call(self, call: Call) -> str | None:
        """Return the call in backticks, as Python."""
        method = CALLS[call.verb].method
        return None if method is None else f"`client.{method.name}({', '.join(_python(call, method))})`"

    def argument(self, verb: str, name: str) -> str | None:
        """Return an argument as Python names it."""
        method = CALLS[verb].method
        renamed = None if method is None else pairs(method.renamed).get(name)
        return None if renamed is None else f"`{renamed}`"

    def value(self, verb: str, name: str, value: Json) -> str | None:
        """Return an argument as Python names it, with its value."""
        method = CALLS[verb].method
        return None if method is None else f"`{pairs(method.renamed).get(name, name)}={value!r}`"


def _python(call: Call, method: MethodForm) -> Iterator[str]:
    renamed = pairs(method.renamed)
    needed = {name: call.value(name) for name in TABLE[call.verb].required}
    values = {renamed.get(name, name): value for name, value in {**needed, **call.arguments}.items()}
    positional = [name for name in method.positional.split() if name in values]
    for name in positional:
        yield name if values[name] is None else _literal(values[name])
    for name in (name for name in values if name not in positional):
        yield f"{name}={name if values[name] is None else _literal(values[name])}"


def _literal(value: Json) -> str:
    return f'"{value}"' if isinstance(value, str) and value.isprintable() and '"' not in value else repr(value)


@dataclass(frozen=True, slots=True)
class Labels:
    """Calls as the page has them: by the label of the button. An action without a button is a command."""

    def call(self, call: Call) -> str | None:
        """Return the label in quotation marks, or the command."""
        label = CALLS[call.verb].label
        return f"“{label}”" if label is not None else Commands().command(call)

    def argument(self, verb: str, name: str) -> str | None:  # noqa: ARG002 - of the protocol
        """Return the name of an argument as words."""
        return name.replace("_", " ")

    def value(self, verb: str, name: str, value: Json) -> str | None:  # noqa: ARG002 - of the protocol
        """Return the name of an argument and its value as words."""
        return f"{name.replace('_', ' ')} = {dump(value)}"


def command_line(verb: str, /, **arguments: Json) -> str:
    """Return the call of a verb that is a command, as it is typed."""
    command = Commands().command(Call(verb=verb, arguments=arguments))
    assert command is not None, f"{verb} is a command"
    return command
