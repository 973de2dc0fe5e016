"""Checks the description of a human task, as far as the workflow writes it out. Pure.

A description that follows from data is read when the state is entered (`description.py`).
"""

from typing import Final

from dcf.asl.expressions.templates import Template
from dcf.asl.syntax.fields import DefinitionFields, token
from dcf.asl.tasks.extensions import LanguageOffer, ResourceKind
from dcf.features.people.description import flaws_of, read_human_task


def check_human(fields: DefinitionFields, description: Template | None) -> None:
    """Report the flaws of a description in Parameters or Arguments."""
    field = "Arguments" if fields.jsonata else "Parameters"
    for part, message in flaws_of(description):
        document = fields.document[field]
        written = next((name for name in (part, f"{part}.$") if isinstance(document, dict) and name in document), None)
        place = f"/{field}" if written is None else f"/{field}/{token(written)}"
        text = f"{fields.owner}: {field}: {message}."
        fields.report(place, "invalid_human_task", text, "docs/guides/approvals.md has the fields.")


OFFER: Final = LanguageOffer(
    resources=(ResourceKind(kind="human", check=check_human, entered=read_human_task),),
)
"""A Task that a person answers."""
