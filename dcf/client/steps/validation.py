"""How a client validates a workflow: what is wrong with it is the answer, and no error."""

from collections.abc import Mapping
from pathlib import Path

from dcf.client.arguments import Agents, agents_text, document_text, given
from dcf.client.exchange import Conversation, ToolCall
from dcf.client.reading import read
from dcf.values.json_text import Json
from dcf.verbs.records.validation import ValidatedWorkflow


def validate(workflow: Mapping[str, Json] | Path, *, agents: Agents | None = None) -> Conversation[ValidatedWorkflow]:
    """Check a workflow in any form, with all that it imports and names on the server; a faulty one is no error."""
    call_arguments = given(workflow_json=document_text(workflow), agents_map_json=agents_text(agents))
    answer = yield ToolCall("validate_workflow", call_arguments)
    return read(ValidatedWorkflow, answer)
