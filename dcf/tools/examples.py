"""The smallest call of a tool, made of the examples that stand at its arguments: for hints, documents and tests.

They are left out of the input schemas, where every caller would pay for them in every list of tools; a hint shows one
to a model when it needs it.
"""

from dcf.tools.registry import ToolSpec
from dcf.values.json_text import Json


def example_of(spec: ToolSpec, argument: str) -> Json:
    """Return a value that the argument could have; None for one that may be left out."""
    field = spec.arguments.model_fields[argument]
    if not field.is_required():
        return None
    assert field.examples, f"{spec.name} cannot be called without {argument}, which has no example"
    return field.examples[0]


def smallest_call(spec: ToolSpec) -> dict[str, Json]:
    """Return the arguments without which the tool cannot be called."""
    fields = spec.arguments.model_fields.items()
    return {name: example_of(spec, name) for name, field in fields if field.is_required()}
