"""Reads the field Stamp of a Task: who may stamp its output. Pure."""

from typing import Final

from dcf.asl.resources import Resource
from dcf.asl.syntax.fields import DefinitionFields
from dcf.asl.tasks.extensions import LanguageOffer, TaskField

NAME: Final = "Stamp"


def _read(fields: DefinitionFields, _: Resource) -> tuple[str, ...]:
    return tuple(map(str, fields.value(NAME, list, "an array of names") or []))


OFFER: Final = LanguageOffer(fields=(TaskField(name=NAME, read=_read),))
