"""A flow whose steps keep a file with their run, and read it: values stay small, the file is an artifact."""

import dcf
from dcf import TaskContext, flow, task


@task
def write(title: str, lines: list[str], context: TaskContext = TaskContext()) -> str:
    with dcf.connect() as client:
        text = "\n".join(lines)
        return client.put_artifact(context.workflow_id, text, name=title, state=context.state).artifact_id


@task
def count_words(artifact: str, context: TaskContext = TaskContext()) -> int:
    with dcf.connect() as client:
        return len(client.get_artifact(context.workflow_id, artifact).content.split())


@flow
def report(title: str, lines: list[str]) -> int:
    artifact = write(title, lines)
    return count_words(artifact)
