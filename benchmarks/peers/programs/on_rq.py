"""RQ: a step is a job, and what it waits for is said with depends_on, which RQ has of its own.

SimpleWorker carries jobs out in its own process; the default worker forks for each and is about a third as fast.
"""

from functools import cache

import redis
from rq import Queue, Retry, SimpleWorker
from rq.job import Dependency, Job

from benchmarks.peers.programs.parts import COUNTS, ENDED, Notes, Order, drive, read_options, say, wait_for_end
from benchmarks.peers.programs.shapes import graph

ROLE, OPTIONS = read_options()
NOTES = Notes(OPTIONS)
STEP = "benchmarks.peers.programs.on_rq.step"


@cache
def client() -> "redis.Redis":
    """Return the connection of this process."""
    return redis.Redis.from_url(OPTIONS.redis_url, socket_timeout=None)


def step(run: str, shape: str, size: int, node: int) -> None:
    """Do nothing; the last step says that the run has ended."""
    NOTES.carry_out(node)
    expected = graph(shape, size)
    if expected.children[node]:
        return
    if expected.leaves == 1 or client().hincrby(COUNTS.format(run), "-1", 1) == expected.leaves:
        client().lpush(ENDED.format(run), 1)


def submit(order: Order) -> None:
    """Enqueue every step, with what it waits for."""
    queues = [Queue(f"steps{number}", connection=client()) for number in range(OPTIONS.queues)]
    expected, value = graph(order.shape, order.size), (order.run, order.shape, order.size)
    again = {"retry": Retry(max=3), "timeout": int(OPTIONS.lease_s)} if OPTIONS.lease_s else {}
    if order.shape == "map":
        queues[0].enqueue_many([Queue.prepare_data(STEP, (*value, node), **again) for node in range(order.size)])
        return
    jobs: list[Job] = []
    for node, parents in enumerate(expected.parents()):
        waits_for = Dependency([jobs[parent] for parent in parents]) if parents else None
        queue = queues[node % OPTIONS.queues]
        jobs.append(queue.enqueue(STEP, *value, node, depends_on=waits_for))


def main() -> None:
    """Work, or submit."""
    if ROLE == "driver":
        drive(submit, wait_for_end(client()))
        return
    short = {"job_monitoring_interval": 1, "maintenance_interval": OPTIONS.lease_s, "worker_ttl": 15}
    chosen = short if OPTIONS.lease_s else {}
    worker = SimpleWorker([Queue(f"steps{OPTIONS.serves}", connection=client())], connection=client(), **chosen)
    say({"ready": True})
    worker.work(logging_level="WARNING")


if __name__ == "__main__":
    main()
