"""Both forms send the same packets for a verb. The text form sends one command more where a hash changes."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from dcf.store.connection.connections import Connections, open_pool
from dcf.store.forms.form import FormName
from tests.store.forms.conftest import Served
from tests.support.redis.counting import CountingPool
from tests.support.workflows.machines import workflow
from tests.support.world import World

Step: TypeAlias = Callable[[World], object]

RUN: Final = "counted"

_EACH: Final = {"StartAt": "Score", "States": {"Score": {"Type": "Task", "End": True}}}
MACHINE: Final = workflow(
    {
        "A": {"Type": "Task", "Next": "B"},
        "B": {"Type": "Task", "Next": "Each"},
        "Each": {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": _EACH, "Next": "Last"},
        "Last": {"Type": "Task", "Next": "Pick"},
        "Pick": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.x", "NumericEquals": at, "Next": f"Way{at}"} for at in (2, 3)],
            "Default": "Done",
        },
        **{f"Way{at}": {"Type": "Task", "End": True} for at in (2, 3)},
        "Done": {"Type": "Succeed"},
    }
)

STEPS: Final[Mapping[str, Step]] = {
    "create": lambda world: world.create(MACHINE, run=RUN),
    "kick off": lambda world: world.plane.kick_off(RUN, "go"),
    "acquire": lambda world: world.acquire(RUN, "A", token="l1"),
    "renew": lambda world: world.renew(RUN, "A", "l1"),
    "release": lambda world: world.release(RUN, "A", "l1"),
    "acquire again": lambda world: world.acquire(RUN, "A", token="l2"),
    "update": lambda world: world.update(RUN, "A", "l2", output={"half": 1}, request_id="r1"),
    "complete": lambda world: world.complete(RUN, "A", "l2", {"x": 1}),
    "pause": lambda world: world.lifecycle.pause(RUN),
    "resume": lambda world: world.lifecycle.resume(RUN),
    "claim": lambda world: world.claim(RUN, "w", "l3"),
    "open a Map": lambda world: world.complete(RUN, "B", "l3", {"items": [1, 2]}),
    "acquire an iteration": lambda world: world.acquire(RUN, "Each/0/Score", token="l4"),
    "complete and claim": lambda world: world.complete(RUN, "Each/0/Score", "l4", 1, claim_ttl_s=60),
    "read": lambda world: world.plane.read(RUN),
    "leave a Map": lambda world: world.complete(RUN, "Each/1/Score", world.doc(RUN, "Each/1/Score").lease.token, 1),
    "acquire the last": lambda world: world.acquire(RUN, "Last", token="l6"),
    "fail": lambda world: world.fail(RUN, "Last", "l6"),
    "retry": lambda world: world.retrying.retry(RUN),
    "acquire once more": lambda world: world.acquire(RUN, "Last", token="l7"),
    "end": lambda world: world.complete(RUN, "Last", "l7", {"x": 1}),
    "finalize": lambda world: world.finalize(RUN),
    "pack": lambda world: world.plane.pack(RUN),
}
"""The life of a run, step by step."""

MORE: Final[Mapping[str, int]] = {
    "create": 1,
    "open a Map": 1,
    "fail": 1,
    "end": 1,
    "finalize": 1,
    "pack": 1,
    "retry": 1,
}
"""How many commands more the text form sends: a hash and strings are written, which RedisJSON does in one command."""


def sent(place: Path, form: FormName) -> dict[str, list[list[str]]]:
    """The packets of each step, on a Redis that keeps documents in this form."""
    with Served(place, "with_json"):
        pool = CountingPool(open_pool(f"unix://{place}"))
        connections = Connections(pool)
        connections.wanted = form
        world, packets_of = World(connections=connections, one_packet_from_s=math.inf), dict[str, list[list[str]]]()
        assert connections.form.name == form
        for name, step in STEPS.items():
            with pool.counted() as packets:
                step(world)
            packets_of[name] = [[word for word in packet if word != "UNWATCH"] for packet in packets]
        connections.close()
    return packets_of


def test_a_verb_sends_as_many_packets_and_commands_in_both_forms(place: Path) -> None:
    by_json, by_text = sent(place, "json"), sent(place, "text")
    assert {name: len(packets) for name, packets in by_text.items()} == {
        name: len(packets) for name, packets in by_json.items()
    }
    more = {name: sum(map(len, by_text[name])) - sum(map(len, packets)) for name, packets in by_json.items()}
    assert {name: count for name, count in more.items() if count} == MORE
