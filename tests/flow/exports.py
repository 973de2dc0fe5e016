"""A flow with every kind of step, for the machine that it becomes for AWS Step Functions."""

from dataclasses import dataclass

from dcf import agent, child, each, flow, human, run_id, signal, sleep, task, token


@dataclass
class Draft:
    title: str
    words: int


class Unreachable(Exception):
    pass


@task
def prefix(topic: str) -> str:
    return topic[:3]


@task(retry=2)
def fetch(address: str, topic: str, run: str) -> int:
    return len(address) + len(topic) + len(run)


@task(callback=True, timeout=3600)
def publish(title: str, token: str) -> str:
    return title + token


@flow
def archive(title: str) -> str:
    return prefix(title)


@flow
def issue(hosts: list[str], topic: str, wait: int = 5) -> dict[str, str]:
    """Fetch pages of which one may fail, have them summed up, approved and published."""
    short = prefix(topic)
    try:
        sizes = [fetch(f"{short}.{host}", topic, run_id()) for host in each(hosts, tolerate=1)]
    except Unreachable:
        return {"title": "none", "kept": short}
    total = sum(sizes)
    draft = agent("writer", f"Write {total} words about {topic}.", output=Draft, name="Write")
    answer = human("Publish?", to=["alice"], details=draft, name="Approve")
    paid = signal("paid", timeout=60)
    sleep(wait)
    if answer.choice == "reject" or paid is None:
        return {"title": "none", "kept": short}
    place = publish(draft.title, token())
    return {"title": place, "kept": child(archive, draft.title)}
