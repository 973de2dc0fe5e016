"""Parses, checks and compiles the data flow fields of a state into a Flow."""

from typing import Final

from dcf.asl.expressions.paths import ROOT
from dcf.asl.expressions.templates import Template
from dcf.asl.flow import Flow
from dcf.asl.syntax.fields import DefinitionFields, token
from dcf.values.text_pieces import clip

MAX_NAME: Final = 80
RESERVED: Final = "states"


def read_flow(fields: DefinitionFields, *, works: bool = False) -> Flow:
    """Compile the data flow fields of a state, already checked to be allowed; `works` means that it has a result."""
    if fields.jsonata:
        seen = ("result",) if works else ()
        return Flow(
            jsonata=True,
            parameters=fields.query("Arguments"),
            output=fields.query("Output", *seen),
            assign=read_assign(fields, *seen),
        )
    return Flow(
        input_path=fields.selection("InputPath"),
        parameters=fields.template("Parameters"),
        result_selector=fields.template("ResultSelector"),
        result_path=fields.destination("ResultPath") if "ResultPath" in fields.document else ROOT,
        output_path=fields.selection("OutputPath"),
        assign=read_assign(fields),
    )


def read_assign(fields: DefinitionFields, *allowed: str) -> Template | None:
    """Compile an Assign and check the names of the variables that it sets."""
    body = fields.value("Assign", dict, "an object")
    if body is None:
        return None
    for key in body:
        name = key if fields.jsonata else key.removesuffix(".$")
        if not is_variable(name):
            message = f"{fields.owner}: Assign: '{clip(name)}' cannot be the name of a variable."
            hint = f"Use a letter, then letters, digits and _, at most {MAX_NAME} characters, and not '{RESERVED}'."
            fields.report(f"/Assign/{token(key)}", "invalid_name", message, hint)
    return fields.query("Assign", *allowed) if fields.jsonata else fields.template("Assign")


def is_variable(name: str) -> bool:
    """Return True if the name is a valid variable name."""
    return name.isidentifier() and not name.startswith("_") and len(name) <= MAX_NAME and name != RESERVED
