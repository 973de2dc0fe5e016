"""Checks the name of the signal that a Task waits for, as far as the workflow writes it out. Pure.

A name that follows from data is checked when the state is entered (`asl/tasks/signals.py`).
"""

from dcf.asl.expressions.templates import Template, written_members
from dcf.asl.syntax.fields import DefinitionFields
from dcf.asl.tasks.signals import NAME_RULE, is_signal_name, literal_name


def check_signal(fields: DefinitionFields, parameters: Template | None) -> None:
    """Report a Task whose Parameters or Arguments name no signal, or have a name that is not allowed."""
    names = written_members(parameters)
    if names is None:
        return
    where, name = "Arguments" if fields.jsonata else "Parameters", literal_name(parameters)
    if "name" not in names:
        fields.note(where, "missing_field", "The signal has no 'name'.", 'Name it: {"name": "paid"}.')
    elif name is not None and not is_signal_name(name):
        fields.note(where, "invalid_value", "The 'name' of the signal is none.", NAME_RULE)
