"""Lets a function serve `arn:aws:states:::lambda:invoke` as a Lambda function does. Pure."""

from typing import Any

from dcf.values.json_text import Json


def payload_of(payload: Json) -> Json:
    """Return the event of a Lambda function: the Payload, {} without one. Without FunctionName, return all of it."""
    if not isinstance(payload, dict) or "FunctionName" not in payload:
        return payload
    return payload.get("Payload", {})


def answer_of_lambda(output: Any) -> dict[str, Any]:
    """Return the result of the Task as AWS does: what the function returned is its Payload."""
    return {"ExecutedVersion": "$LATEST", "Payload": output, "StatusCode": 200}
