"""A tool of our own registry whose schema has what JSON Schema 2020-12 allows, to see that it reaches clients whole."""

from typing import Any, Literal

from pydantic import ConfigDict, create_model

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.verbs.registry import Answer, Arguments
from tests.tools.registering import tool

_KEYWORDS: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contact_method": {"const": "phone"}}, "required": ["contact_method"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
}

Address: Any = create_model(
    "address", __config__=ConfigDict(json_schema_extra={"$anchor": "address"}), street=(str, ""), city=(str, "")
)


class Contact(Arguments):
    """Take somebody's address."""

    model_config = ConfigDict(json_schema_extra=_KEYWORDS)

    name: str = ""
    address: Address | None = None
    contact_method: Literal["phone", "email"] | None = None
    phone: str | None = None
    email: str | None = None


@tool(Scope.READ, Contact, read_only=True)
def json_schema_2020_12_tool(app: Application, given: Contact) -> Answer:
    return Answer(status="ok")
