"""Methods of the clients for the verbs of the toolset people. Derived from their descriptions."""

from dcf.client.arguments import JsonObject, json_text, object_text, request_id_for
from dcf.client.calls import call_pages, call_tool
from dcf.client.exchange import Conversation, Stream
from dcf.features.external.records import EndedTask, LivingTask, SentSignal
from dcf.features.people.records import AnsweredTask, ListedTask
from dcf.features.questions.records import AnsweredQuestion
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json


def signal(
    workflow_id: str, name: str, payload: Json = MISSING, *, reason: str | None = None, request_id: str | None = None
) -> Conversation[SentSignal]:
    """Send a signal into a run, for a Task with the Resource dcf:signal: call this when what it waits for has happened.

    The Task that waits for this name ends with the payload as its output. If none waits yet, the signal is kept.
    """
    return call_tool(
        SentSignal,
        "send_signal",
        workflow_id=workflow_id,
        name=name,
        payload_json=None if payload is MISSING else json_text(payload, "payload"),
        reason=reason,
        request_id=request_id_for(request_id),
    )


def send_task_success(
    task_token: str, output: Json = MISSING, *, usage: JsonObject | None = None
) -> Conversation[EndedTask]:
    """Answer a Task that waits for a callback: call this when what its task token was handed out for is done.

    The state succeeds with this output and the run continues. A token serves once; repeating the same call is safe.
    """
    return call_tool(
        EndedTask,
        "send_task_success",
        task_token=task_token,
        output_json=None if output is MISSING else json_text(output, "output"),
        usage_json=object_text(usage, "usage"),
    )


def send_task_failure(
    task_token: str, *, error: str | None = None, cause: str | None = None, usage: JsonObject | None = None
) -> Conversation[EndedTask]:
    """Fail a Task that waits for a callback: call this when what its task token was handed out for cannot be done.

    The state's Retry and Catch apply. A retry hands out another token, and this one becomes invalid.
    """
    return call_tool(
        EndedTask,
        "send_task_failure",
        task_token=task_token,
        error=error,
        cause=cause,
        usage_json=object_text(usage, "usage"),
    )


def send_task_heartbeat(task_token: str) -> Conversation[LivingTask]:
    """Say that a Task which waits for a callback is still worked on, before its HeartbeatSeconds pass."""
    return call_tool(LivingTask, "send_task_heartbeat", task_token=task_token)


def list_human_tasks(
    workflow_id: str | None = None,
    state: str | None = None,
    *,
    person: str | None = None,
    group: str | None = None,
    project: str | None = None,
    details: bool = False,
) -> Stream[ListedTask]:
    """Find what waits for people, of a run or of a person: tasks, questions, verdicts, issues that block runs.

    Give `workflow_id` and `state` to see a task's details. Pages are read as they are needed.
    """
    return call_pages(
        ListedTask,
        "list_human_tasks",
        "tasks",
        limit=100,
        workflow_id=workflow_id,
        state=state,
        agent_id=person,
        group=group,
        project=project,
        details=details or None,
    )


def answer_human_task(
    workflow_id: str,
    state: str,
    choice: str | None = None,
    *,
    comment: str | None = None,
    answer: Json = MISSING,
    agent_id: str | None = None,
    group: str | None = None,
    epoch: int | None = None,
    request_id: str | None = None,
) -> Conversation[AnsweredTask]:
    """Answer a task that waits for a person: with approve, reject, or another of its choices. The first answer counts.

    Callers that are not asked, or must not answer it, are refused. Never answer for a person who did not say so.
    """
    return call_tool(
        AnsweredTask,
        "answer_human_task",
        workflow_id=workflow_id,
        state=state,
        choice=choice,
        comment=comment,
        answer_json=None if answer is MISSING else json_text(answer, "answer"),
        agent_id=agent_id,
        group=group,
        epoch=epoch,
        request_id=request_id_for(request_id),
    )


def answer_question(
    workflow_id: str,
    question_id: str,
    answer: str,
    *,
    comment: str | None = None,
    agent_id: str | None = None,
    group: str | None = None,
    request_id: str | None = None,
) -> Conversation[AnsweredQuestion]:
    """Answer a worker's question (an event of type question). The first answer counts."""
    return call_tool(
        AnsweredQuestion,
        "answer_question",
        workflow_id=workflow_id,
        question_id=question_id,
        answer=answer,
        comment=comment,
        agent_id=agent_id,
        group=group,
        request_id=request_id_for(request_id),
    )
