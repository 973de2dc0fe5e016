"""The argument by which a run names the definition of the catalogue that it is carried out by."""

from typing import Annotated

from pydantic import Field

from dcf.verbs.unlisted import UNLISTED

DefinitionRef = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=300,
        description="Definition of the catalogue that it is carried out by: kind:name, or kind:name@version.",
        examples=["workflow:release"],
        json_schema_extra=UNLISTED,
    ),
]
