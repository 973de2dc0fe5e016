"""Messages, tasks and the agent card of the A2A protocol (1.0, JSON), as clients send and get them. Pure.

A task is a run, and its id the run's. Only what this server can do is said in the card.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.errors import DcfError, InvalidArgument
from dcf.values.json_text import Json, parse
from dcf.values.whole_numbers import with_whole_numbers

WORKFLOW: Final = "workflow"
"""Member of a message's metadata that names which workflow is meant."""

CONTEXT_TAG: Final = "a2a:"
"""The beginning of the tag of a run that keeps the client's contextId."""

_LONGEST_CONTEXT: Final = 60
_STATES: Final = {
    "running": "TASK_STATE_WORKING",
    "succeeded": "TASK_STATE_COMPLETED",
    "partial": "TASK_STATE_COMPLETED",
    "failed": "TASK_STATE_FAILED",
    "cancelled": "TASK_STATE_CANCELED",
}
_BEARER: Final[Json] = {"httpAuthSecurityScheme": {"scheme": "bearer", "description": "An API key of dcf."}}


def message_of(params: Json) -> dict[str, Json]:
    """Return the message of a SendMessage; raise InvalidArgument for what is none."""
    message = params.get("message") if isinstance(params, dict) else None
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        raise InvalidArgument("params.message is no message.", 'Send {"message": {"messageId", "role", "parts"}}.')
    identity = message.get("messageId")
    if not isinstance(identity, str) or not 0 < len(identity) <= 100:  # noqa: PLR2004 - a UUID and then some
        raise InvalidArgument("The message has no messageId of 1 to 100 characters.", "Send a new UUID with each.")
    return message


def input_of(message: Mapping[str, Json]) -> Json:
    """Return the input of the run: the message's data, or its text, read as JSON where it is an object."""
    parts = [part for part in message["parts"] if isinstance(part, dict)]
    data = [part["data"] for part in parts if "data" in part]
    if data:
        return with_whole_numbers(data[0])
    text = "\n".join(str(part["text"]) for part in parts if "text" in part)
    try:
        parsed = parse(text, name="The text")
    except DcfError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {"text": text}


def workflow_of(message: Mapping[str, Json], served: Sequence[str]) -> str:
    """Return which of the served workflows is meant: the one that the message names, or the only one."""
    metadata = message.get("metadata")
    named = metadata.get(WORKFLOW) if isinstance(metadata, dict) else None
    if named is None and len(served) == 1:
        return served[0]
    if named not in served:
        raise InvalidArgument(
            "The message names no workflow of this agent.",
            f'Name one in its metadata: {{"{WORKFLOW}": "{served[0]}"}}; the agent card lists them as skills.',
        )
    return str(named)


def context_tag(message: Mapping[str, Json]) -> list[str]:
    """Return the tag that keeps the client's context; none if the context is not a short plain text."""
    context = message.get("contextId")
    is_short = isinstance(context, str) and context.isprintable() and 0 < len(context) <= _LONGEST_CONTEXT
    return [f"{CONTEXT_TAG}{context}"] if is_short else []


def task_of(meta: Mapping[str, Json], output: Json) -> dict[str, Json]:
    """Return a run as a task; the output of a succeeded run is its artifact."""
    run, status = meta["workflow_id"], str(meta["status"])
    contexts = (tag.removeprefix(CONTEXT_TAG) for tag in meta.get("tags") or () if tag.startswith(CONTEXT_TAG))
    status_message: dict[str, Json] = {"state": _STATES[status]}
    at = meta.get("finished_at") or meta.get("started_at") or meta.get("created_at")
    status_message |= {} if at is None else {"timestamp": at}
    if status == "failed":
        status_message["message"] = _said(run, {"error": meta.get("error"), "cause": meta.get("cause")})
    task: dict[str, Json] = {"id": run, "contextId": next(contexts, run), "status": status_message}
    if _STATES[status] == "TASK_STATE_COMPLETED":
        task["artifacts"] = [{"artifactId": "output", "name": "output", "parts": [{"data": output}]}]
    return task


def agent_card(url: str, version: str, skills: Sequence[tuple[str, str]], *, is_open: bool) -> dict[str, Json]:
    """Return the card of this server: its workflows (name and description) are the skills."""
    card: dict[str, Json] = {
        "name": "dcf",
        "description": "Carries out workflows by AI agents, programs and people; each skill starts a run of one.",
        "version": version,
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": False, "pushNotifications": False, "extendedAgentCard": False},
        "defaultInputModes": ["application/json", "text/plain"],
        "defaultOutputModes": ["application/json"],
        "skills": [{"id": name, "name": name, "description": about, "tags": [WORKFLOW]} for name, about in skills],
    }
    if is_open:
        return card
    return card | {
        "securitySchemes": {"apiKey": _BEARER},
        "securityRequirements": [{"schemes": {"apiKey": {"list": []}}}],
    }


def _said(run: str, failure: Mapping[str, Json]) -> dict[str, Json]:
    text = ": ".join(str(part) for part in (failure["error"], failure["cause"]) if part)
    parts: list[Json] = [{"text": text or "The run failed."}, {"data": dict(failure)}]
    return {"messageId": f"{run}-failed", "role": "ROLE_AGENT", "parts": parts}
