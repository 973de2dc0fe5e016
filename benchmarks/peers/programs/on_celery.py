"""Celery: a step is a task with acks_late; when it is done it sends the next ones. Joins are counted in Redis.

Its own canvas carries the rest of the graph in every message, which is quadratic: 304 MB for this dag (celery #5000).
Concurrency 10 is one worker with ten threads; several workers are one prefork worker with this number of processes.
"""

from functools import cache
from typing import Any

import redis
from celery import Celery, group
from celery.signals import worker_ready

from benchmarks.peers.programs.parts import COUNTS, ENDED, Notes, Order, drive, read_options, say, wait_for_end
from benchmarks.peers.programs.shapes import graph

ROLE, OPTIONS = read_options()
NOTES = Notes(OPTIONS)
SHORT = {"visibility_timeout": OPTIONS.lease_s, "unacked_restore_interval": 1, "unacked_restore_throttle": 1}
"""Where a lost worker's steps are waited for. The defaults are an hour, and a look every 100 seconds."""
APP = Celery("steps", broker=OPTIONS.redis_url)
APP.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    task_ignore_result=True,
    worker_redirect_stdouts=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options=SHORT if OPTIONS.lease_s else {},
    worker_cancel_long_running_tasks_on_connection_loss=False,
)


@cache
def client() -> "redis.Redis":
    """Return the connection of this process."""
    return redis.Redis.from_url(OPTIONS.redis_url, socket_timeout=None)


def carry_out(run: str, shape: str, size: int, node: int) -> None:
    """Do nothing, then send what follows."""
    NOTES.carry_out(node)
    expected = graph(shape, size)
    following = expected.children[node]
    if following:
        ready = [child for child in following if is_ready(run, child, expected.upstreams[child])]
        send(Order(run=run, shape=shape, size=size), ready)
    elif is_ready(run, -1, expected.leaves):
        client().lpush(ENDED.format(run), 1)


step: Any = APP.task(name="step")(carry_out)


def is_ready(run: str, node: int, upstreams: int) -> bool:
    """Count one of the steps that a step waits for; whether it was the last."""
    return upstreams == 1 or client().hincrby(COUNTS.format(run), str(node), 1) == upstreams


def send(order: Order, nodes: list[int]) -> None:
    """Send steps."""
    value = (order.run, order.shape, order.size)
    if len(nodes) == 1:
        step.apply_async((*value, nodes[0]), queue=f"steps{nodes[0] % OPTIONS.queues}")
    elif nodes:
        group(step.s(*value, node).set(queue="steps0") for node in nodes).apply_async()


@worker_ready.connect  # type: ignore[untyped-decorator]
def tell(**_: object) -> None:
    """Say that the worker takes steps."""
    say({"ready": True})


def main() -> None:
    """Work, or submit."""
    if ROLE == "driver":
        drive(lambda order: send(order, graph(order.shape, order.size).roots), wait_for_end(client()))
        return
    pool = ("threads", OPTIONS.concurrency) if OPTIONS.concurrency > 1 else ("prefork", OPTIONS.workers)
    if OPTIONS.queues > 1:
        pool = ("prefork", 1)
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "WARNING"]
    name = f"w{OPTIONS.number}@bench"
    APP.worker_main(["worker", "-P", pool[0], "-c", str(pool[1]), "-Q", f"steps{OPTIONS.serves}", "-n", name, *quiet])


if __name__ == "__main__":
    main()
