"""Puts what dcf says, which names verbs, into the words of the command line, for the place in use.

The table of calls is loaded for a text that names something: most commands print none.
"""

from collections.abc import Mapping

from dcf.cli.places.choice import program
from dcf.values.json_text import Json


def in_commands(text: str, verb: str | None = None, known: Mapping[str, Json] | None = None) -> str:
    """Return a text with commands in place of verbs: what was said to a call of the verb with these arguments."""
    if "`" not in text:
        return text
    from dcf.verbs.wording.languages import Commands
    from dcf.verbs.wording.sentences import worded

    return worded(text, Commands(program()), verb, known)


def in_options(message: str, verb: str) -> str:
    """Return the message of a refused call with options in place of the arguments of the verb."""
    from dcf.verbs.wording.languages import Commands
    from dcf.verbs.wording.sentences import message_worded

    return message_worded(message, Commands(program()), verb)


def as_command(step: Mapping[str, Json]) -> str:
    """Return a step as a command to paste; as a call where there is no command."""
    from dcf.verbs.wording.languages import Commands
    from dcf.verbs.wording.sentences import Call

    call = Call(verb=step["tool"], arguments=step["arguments"])
    command = Commands(program()).command(call)
    return command or f"{call.verb}({', '.join(f'{name}={value}' for name, value in call.arguments.items())})"
