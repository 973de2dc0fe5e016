"""The page on how a workflow is written, from Python: the text alone."""

from dcf.client.exchange import Conversation, ToolCall
from dcf.client.failures import accepted


def language() -> Conversation[str]:
    """Return the page on how a workflow is written, as Markdown."""
    answer = yield ToolCall("describe_workflow_language", {})
    return str(accepted(answer)["language"])
