"""A person approves a text before it is published. After an hour without an answer the boss is asked as well."""

from dcf import Rejected, flow, human, task


@task
def write(topic: str) -> str:
    """Write a draft."""
    return f"All about {topic}."


@task
def publish(text: str) -> str:
    """Publish a text, and return where it is."""
    return f"https://example.org/{len(text)}"


@flow
def approval(topic: str) -> str:
    """Write, let a person approve, publish."""
    draft = write(topic)
    answer = human(
        "Publish this?",
        to=["alice"],
        details=draft,
        choices=["approve", {"name": "reject", "comment": "required"}],
        timeout=24 * 3600,
        escalate={"after_s": 3600, "to": "boss"},
        name="Approve",
    )
    if answer.choice == "reject":
        raise Rejected(answer.comment or "no reason given")
    place = publish(draft)
    return f"{answer.answered_by} let us publish {place}"
