"""An example of each argument that a tool cannot do without: for hints, where a model learns it when it needs it.

They are not in the input schemas, where every caller would pay for them in every list of tools.
"""

from collections.abc import Mapping
from typing import Final

from dcf.tools.registry import ToolSpec
from dcf.values.json_text import Json

_WORKFLOW: Final[Json] = {"asl": {"StartAt": "Greet", "States": {"Greet": {"Type": "Task", "End": True}}}}

_EXAMPLES: Final[Mapping[str, Json]] = {
    "agent_id": "pricing-1",
    "agent_name": "pricing-1",
    "content": "# Plan\n",
    "default_json": [],
    "delta": 1,
    "destination": "notes/final.md",
    "from_path": "$.draft",
    "lease_token": "the token in the answer of acquire_state_lease",  # nosec B105 - it says where to find one
    "manifest_id": "calculate.pricing@0.1.0",
    "owner_agent_id": "pricing-1",
    "patch_json": {"status": "done", "draft": None},
    "path": "$.status",
    "redis_key": "doc:notes",
    "skill_json": "skill://calculate.pricing@0.1.0",
    "source": "notes/plan.md",
    "state": "CalculatePricing",
    "to_path": "$.final",
    "value_json": {"name": "any JSON value"},
    "workflow_id": "order-42",
    "workflow_json": _WORKFLOW,
}
_OF_TOOL: Final[Mapping[tuple[str, str], Json]] = {
    ("create_directory", "path"): "notes",
    ("delete_path", "path"): "notes/plan.md",
    ("json_append", "path"): "$.items",
    ("json_increment", "path"): "$.count",
    ("json_merge", "path"): "$",
    ("read_file", "path"): "notes/plan.md",
    ("write_file", "path"): "notes/plan.md",
}


def example_of(spec: ToolSpec, argument: str) -> Json:
    """Return a value that the argument could have; None for one that may be left out."""
    if not spec.arguments.model_fields[argument].is_required():
        return None
    return _OF_TOOL.get((spec.name, argument), _EXAMPLES.get(argument))


def smallest_call(spec: ToolSpec) -> dict[str, Json]:
    """Return the arguments without which the tool cannot be called."""
    fields = spec.arguments.model_fields.items()
    return {name: example_of(spec, name) for name, field in fields if field.is_required()}
