"""Checks what a Task says that waits for a signal or starts a child run, as far as the workflow writes it out. Pure.

What follows from data is checked when the state is entered (`signals`, `children/request.py`).
"""

from dcf.asl.expressions.templates import Literal, ObjectTemplate, Template
from dcf.asl.machine import Task
from dcf.asl.syntax.fields import DefinitionFields
from dcf.asl.tasks.signals import NAME_RULE, is_signal_name, literal_name
from dcf.features.children.request import FIELDS


def check_outside(fields: DefinitionFields, task: Task) -> None:
    """Note what is wrong with the Parameters or Arguments of a Task that waits for something outside."""
    names = _names(task.flow.parameters)
    if names is None or not isinstance(task.resource, str):
        return
    where = "Arguments" if fields.jsonata else "Parameters"
    if task.served_by.kind == "signal":
        name = literal_name(task.flow.parameters)
        if "name" not in names:
            fields.note(where, "missing_field", "The signal has no 'name'.", 'Name it: {"name": "paid"}.')
        elif name is not None and not is_signal_name(name):
            fields.note(where, "invalid_value", "The 'name' of the signal is none.", NAME_RULE)
    if task.served_by.kind == "child":
        if "StateMachineArn" not in names:
            hint = "Name a workflow that is kept: 'name@version', 'name' (the newest) or its hash."
            fields.note(where, "missing_field", "StateMachineArn, which names the workflow to start, is missing.", hint)
        for unknown in sorted(names - FIELDS):
            hint = f"It takes {', '.join(sorted(FIELDS))}."
            fields.note(where, "unknown_field", f"'{unknown[:80]}' is no field of the start of a run.", hint)


def _names(parameters: Template | None) -> frozenset[str] | None:
    """Return the names of the members; None where that is no object, or follows from data."""
    match parameters:
        case Literal(value=dict(found)):
            return frozenset(found)
        case ObjectTemplate(members=members):
            return frozenset(dict(members))
    return None
