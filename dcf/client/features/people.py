"""The verbs of a client for people, who are asked and answer; described as in `verbs.py`."""

from dcf.client.answers.people import AnsweredTask, ListedTask
from dcf.client.arguments import given, json_text, request_id_for
from dcf.client.exchange import Conversation, Item, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.verbs import ask
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json


def list_human_tasks(
    *,
    person: str | None = None,
    group: str | None = None,
    workflow_id: str | None = None,
    state: str | None = None,
    project: str | None = None,
) -> Stream[ListedTask]:
    """Yield tasks that wait for people, oldest first: those that a person or a group may answer, or those of a run.

    With `workflow_id` and `state` it is that one, with its `details`.
    """
    wanted = given(person=person, group=group, workflow_id=workflow_id, state=state, project=project)
    cursor = None
    while True:
        page = accepted((yield ToolCall("list_human_tasks", {**wanted, **given(cursor=cursor)})))
        for one in page["tasks"]:
            yield Item(read(ListedTask, one))
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def answer_human_task(
    workflow_id: str,
    state: str,
    choice: str,
    *,
    comment: str | None = None,
    answer: Json = MISSING,
    agent_id: str | None = None,
    group: str | None = None,
    epoch: int | None = None,
    request_id: str | None = None,
) -> Conversation[AnsweredTask]:
    """Answer a task that waits for a person, with one of its choices. The first answer counts.

    `agent_id` is the person who answers, which a key that is bound to one says by itself. With `epoch` only if the
    task is still the one that the list told of.
    """
    return ask(
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
