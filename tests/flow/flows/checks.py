"""A Map of which some items may fail, `definitions/tolerated_failures.json`: the result has those that did not."""

from dcf import each, flow, task


class Unreachable(Exception):
    pass


@task
def ping(host: str) -> int:
    if host.startswith("bad"):
        raise Unreachable(host)
    return len(host)


@flow
def checks(hosts: list[str]) -> str:
    """Ping hosts; two of them may be down."""
    try:
        times = [ping(host) for host in each(hosts, concurrency=2, tolerate=2)]
    except Unreachable:
        return "down"
    return f"{len(times)} of {len(hosts)} answer, {sum(times)} ms"
