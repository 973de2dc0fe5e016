"""The context object (`$$`) of a run, as far as it never changes. Pure."""

from dcf.asl.surroundings import RunContext
from dcf.values.json_text import Json


def context_of(workflow_id: str, name: str, run_input: Json, created_at: str, secret: str) -> RunContext:
    """Return the part of the context object that is the same in every state (ASL notes, section 9).

    `secret` is what the run's task tokens are made with; no expression can read it.
    """
    return RunContext(
        {
            "Execution": {
                "Id": workflow_id,
                "Name": workflow_id,
                "Input": run_input,
                "StartTime": created_at,
                "RoleArn": f"urn:dcf:workflow:{name}",
                "RedriveCount": 0,
            },
            "StateMachine": {"Id": name, "Name": name},
        },
        workflow_id=workflow_id,
        secret=secret,
    )
