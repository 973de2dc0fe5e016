"""Restate: a run is a handler that says what follows what, in code; a step is `ctx.run`, kept in the server's journal.

With one worker the steps run inside the handler: in turn at concurrency 1, beyond that as many at once as the graph
allows, but not more than fifty, since the SDK's cost of a step grows with them. With several workers a step is a call
of a service, of which each worker has one.
"""

import asyncio
import http.client
import json
import sys
from typing import Any

import hypercorn.asyncio
import restate
from hypercorn.config import Config

from benchmarks.peers.programs.parts import LONGEST_S, Notes, Order, drive, read_options, say
from benchmarks.peers.programs.shapes import graph

ROLE, OPTIONS = read_options()
NOTES = Notes(OPTIONS)
AT_ONCE = 50
INGRESS, ADMIN, *ENDPOINTS = OPTIONS.ports


async def step(node: int) -> int:
    """Do nothing."""
    NOTES.begin(node)
    if OPTIONS.step_s:
        await asyncio.sleep(OPTIONS.step_s)
    NOTES.end(node)
    return node


async def call_step(ctx: Any, node: int) -> int:  # noqa: ARG001 - what Restate hands over
    """Do nothing, as a service."""
    return await step(node)


async def run(ctx: Any, given: dict[str, Any]) -> int:
    """Carry out a graph, level by level."""
    done = 0
    for level in levels(given["shape"], given["size"]):
        for some in slices(level):
            await restate.gather(*[begin(ctx, node) for node in some])
            done += len(some)
    return done


def begin(ctx: Any, node: int) -> Any:
    """Begin a step: here, or at the worker whose service it is."""
    if OPTIONS.workers > 1:
        return ctx.generic_call(f"Steps{node % OPTIONS.workers}", "step", json.dumps(node).encode())
    return ctx.run_typed("step", step, restate.RunOptions(), node)


def levels(shape: str, size: int) -> list[list[int]]:
    """Return the steps that may run at the same time, in order."""
    expected = graph(shape, size)
    waiting, levels, ready = list(expected.upstreams), [], expected.roots
    while ready:
        levels.append(ready)
        following = [child for node in ready for child in expected.children[node]]
        for child in following:
            waiting[child] -= 1
        ready = [child for child in dict.fromkeys(following) if not waiting[child]]
    return levels


def slices(level: list[int]) -> list[list[int]]:
    """Split what may run at once: by one at concurrency 1, and where steps take time as the concurrency says."""
    many = OPTIONS.workers > 1 or (OPTIONS.concurrency > 1 and not OPTIONS.step_s)
    at_once = AT_ONCE if many else OPTIONS.concurrency
    return [level[start : start + at_once] for start in range(0, len(level), at_once)]


def serve() -> None:
    """Serve this worker's service, and with the first worker the runs."""
    steps, runs = restate.Service(f"Steps{OPTIONS.number}"), restate.Service("Runs")
    steps.handler("step")(call_step)
    runs.handler("run")(run)
    config = Config()
    config.bind = [f"127.0.0.1:{ENDPOINTS[OPTIONS.number]}"]
    config.loglevel = "WARNING"
    say({"ready": True})
    asyncio.run(hypercorn.asyncio.serve(restate.app([steps] if OPTIONS.number else [steps, runs]), config))


def post(port: int, path: str, content: object) -> bytes:
    """Send a request to the Restate server; raise unless it succeeds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_S)
    try:
        connection.request("POST", path, json.dumps(content), {"content-type": "application/json"})
        reply = connection.getresponse()
        body = reply.read()
        if reply.status >= http.client.BAD_REQUEST:
            raise RuntimeError(f"{path}: {reply.status} {body.decode(errors='replace')[:500]}")
        return body
    finally:
        connection.close()


def main() -> None:
    """Serve, or register the workers and submit runs."""
    if ROLE == "worker":
        serve()
        return
    for port in ENDPOINTS[: OPTIONS.workers]:
        post(ADMIN, "/deployments", {"uri": f"http://127.0.0.1:{port}"})

    def wait(order: Order) -> None:
        post(INGRESS, "/Runs/run", {"shape": order.shape, "size": order.size})

    drive(lambda _: None, wait)


if __name__ == "__main__":
    main()
    sys.exit(0)
