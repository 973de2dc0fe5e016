"""Checks the request of a Task that starts a child run, as far as the workflow writes it out. Pure.

A request that follows from data is read when the state is entered (`request.py`).
"""

from typing import Final

from dcf.asl.expressions.templates import Template, written_members
from dcf.asl.syntax.fields import DefinitionFields
from dcf.asl.tasks.extensions import LanguageOffer, ResourceKind
from dcf.features.children.request import FIELDS, read_child_input


def check_child(fields: DefinitionFields, parameters: Template | None) -> None:
    """Report Parameters or Arguments that name no workflow, or have a field that the start of a run has not."""
    names = written_members(parameters)
    if names is None:
        return
    where = "Arguments" if fields.jsonata else "Parameters"
    if "StateMachineArn" not in names:
        hint = "Name a workflow that is kept: 'name@version', 'name' (the newest) or its hash."
        fields.note(where, "missing_field", "StateMachineArn, which names the workflow to start, is missing.", hint)
    for unknown in sorted(names - FIELDS):
        hint = f"It takes {', '.join(sorted(FIELDS))}."
        fields.note(where, "unknown_field", f"'{unknown[:80]}' is no field of the start of a run.", hint)


OFFER: Final = LanguageOffer(
    resources=(ResourceKind(kind="child", check=check_child, entered=read_child_input),),
)
"""A Task that starts a child run."""
