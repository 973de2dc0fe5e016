"""The smallest call of a tool, built from the examples of its arguments: for hints, documents and tests.

Examples are not in the input schemas, where every caller would pay for them with every list of tools. A hint shows
one to a model when it is needed.
"""

from dcf.values.json_text import Json
from dcf.verbs.registry import ToolSpec


def example_of(spec: ToolSpec, argument: str) -> Json:
    """Return an example value of the argument; None for an optional one."""
    field = spec.arguments.model_fields[argument]
    if not field.is_required():
        return None
    assert field.examples, f"{spec.name} cannot be called without {argument}, which has no example"
    return field.examples[0]


def smallest_call(spec: ToolSpec) -> dict[str, Json]:
    """Return example values for all required arguments of the tool."""
    fields = spec.arguments.model_fields.items()
    return {name: example_of(spec, name) for name, field in fields if field.is_required()}
